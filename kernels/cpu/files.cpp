// Files of data as values: read once a session, checked against what the graph declares.
#include <cmath>

#include "base/compress.hpp"
#include "base/csv.hpp"
#include "base/files.hpp"
#include "base/idx.hpp"
#include "base/npy.hpp"
#include "base/text.hpp"
#include "graph/tensor.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/state.hpp"
#include "kernels/cpu/strided.hpp"
#include "kernels/functors.hpp"

namespace ferry::cpu {
namespace {

/// Room for headers, blanks and line ends beside what the declared type needs.
constexpr std::uint64_t kSlack = std::uint64_t{1} << 20;

struct DataFile {
  FileSystem* files;
  std::string folder, path;
  Type type;  ///< of the whole value
  std::int64_t skip;

  /// The content, unpacked; refused when it is longer than `bytes_for_each` element and some slack.
  [[nodiscard]] FileBytes read(std::uint64_t bytes_for_each) const {
    const std::uint64_t limit = static_cast<std::uint64_t>(type.shape.count()) * bytes_for_each + kSlack;
    return maybe_decompress(files->read_beneath(folder, path, limit), limit, path);
  }
  [[noreturn]] void refuse(const std::string& found) const {
    throw Error(Code::file, in_quotes(path) + " holds " + found + "; the graph declares " + type.str());
  }
};

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const auto& path = setup.attrs.get<std::string>("path");
  if (setup.files == nullptr || setup.data_folder.empty())
    throw Error(Code::usage, std::string(setup.name) + ": there is no data folder to read " + in_quotes(path) + " from")
        .hint("give --data FOLDER, or SessionOptions::data_folder");
  return keep(DataFile{setup.files, std::string(setup.data_folder), path,
                       Type{setup.attrs.get<DType>("dtype"), setup.attrs.get<Shape>("shape")},
                       setup.attrs.get_or<std::int64_t>("skip", 0)});
}

/// This task's part of the file's elements.
void copy_part(const KernelRun& run, const Array& output, const std::byte* all) {
  const Steps from = steps_of(output.whole);
  const Steps to = steps_of(output.sizes);
  StridedCopy copy;
  for (std::size_t d = 0; d < output.sizes.size(); ++d) {
    copy.add_dim(output.sizes[d], from[d], to[d]);
    copy.from_begin += output.begin[d] * from[d];
  }
  copy.run(run.parallel, output.dtype, all, output.data);
}

void copy_array(const KernelRun& run, const NpyArray& array) {
  const auto& file = kept<DataFile>(run);
  if (array.descr != npy_descr_of(file.type.dtype) || array.shape != file.type.shape.sizes())
    file.refuse(in_quotes(array.descr) + " of " + Shape(std::span<const std::int64_t>(array.shape)).str());
  copy_part(run, run.outputs[0], array.bytes.data());
}

void read_idx_file(KernelRun& run) {
  const auto& file = kept<DataFile>(run);
  copy_array(run, parse_idx(file.read(size_of(file.type.dtype)), file.path));
}

void read_npy_file(KernelRun& run) {
  const auto& file = kept<DataFile>(run);
  copy_array(run, parse_npy(file.read(size_of(file.type.dtype)), file.path));
}

std::string_view without_lines(std::string_view text, std::int64_t lines) {
  for (; lines > 0; --lines) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

/// The numbers as elements of `dtype`, which must be able to hold them.
Tensor converted(const CsvTable& table, const DataFile& file) {
  Tensor tensor(file.type.dtype, file.type.shape.sizes());
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto out = tensor.mutable_data<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = functors::Cast<T>()(table.values[i]);
      if (std::is_integral_v<T> && static_cast<double>(out[i]) != table.values[i])
        file.refuse("the number " + std::to_string(table.values[i]) + " in row " +
                    std::to_string(i / table.columns + 1));
    }
  });
  return tensor;
}

void read_csv_file(KernelRun& run) {
  constexpr std::uint64_t kNumberBytes = 32;
  const auto& file = kept<DataFile>(run);
  const FileBytes bytes = file.read(kNumberBytes);
  if (bytes.size() == 0) file.refuse("nothing");
  const CsvTable table = parse_csv(without_lines(bytes.text(), file.skip), file.path);
  const std::vector<std::int64_t> sizes = file.type.shape.sizes();
  if (static_cast<std::int64_t>(table.rows) != sizes[0] || static_cast<std::int64_t>(table.columns) != sizes[1])
    file.refuse(std::to_string(table.rows) + " rows of " + std::to_string(table.columns) + " numbers");
  copy_part(run, run.outputs[0], converted(table, file).bytes().data());
}

constexpr Kernel kKernels[] = {
    {.op = "ReadIdx", .run = read_idx_file, .prepare = prepare, .takes = kAnyType},
    {.op = "ReadNpy", .run = read_npy_file, .prepare = prepare, .takes = kAnyType},
    {.op = "ReadCsv", .run = read_csv_file, .prepare = prepare, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> file_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
