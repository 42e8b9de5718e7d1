// Files of data as values: read once a session, checked against what the graph declares.
#include <cmath>

#include "base/compress.hpp"
#include "base/csv.hpp"
#include "base/files.hpp"
#include "base/idx.hpp"
#include "base/libsvm.hpp"
#include "base/npy.hpp"
#include "base/text.hpp"
#include "graph/tensor.hpp"
#include "kernels/cpu/array_file.hpp"
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
  require_folder(setup, path);
  return keep(DataFile{setup.files, std::string(setup.data_folder), path,
                       Type{setup.attrs.get<DType>("dtype"), setup.attrs.get<Shape>("shape")},
                       setup.attrs.get_or<std::int64_t>("skip", 0)});
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

// ---- Files of which only the part is read ----

struct ArrayInFiles {
  FileSystem* files;
  std::string folder;
  ArrayDeclared declared;
};

template <const char* kFormat>
std::unique_ptr<KernelState> prepare_array(const KernelSetup& setup) {
  const auto& path = setup.attrs.get<std::string>("path");
  require_folder(setup, path);
  return keep(ArrayInFiles{setup.files, std::string(setup.data_folder),
                           ArrayDeclared{kFormat, path, setup.attrs.get_or<std::string>("tensor", ""),
                                         Type{setup.attrs.get<DType>("dtype"), setup.attrs.get<Shape>("shape")}}});
}

void read_array_file(KernelRun& run) {
  const auto& [files, folder, declared] = kept<ArrayInFiles>(run);
  const ArrayFile file(*files, folder, declared);
  Array output = run.outputs[0];
  if (output.count() == 0) return;
  const bool whole_rows = std::equal(output.sizes.begin() + 1, output.sizes.end(), output.whole.begin() + 1);
  if (whole_rows) return file.read(output.begin[0], output.sizes[0], output.data);
  FileBytes rows(static_cast<std::uint64_t>(output.sizes[0]) * file.row_bytes());
  file.read(output.begin[0], output.sizes[0], rows.data());
  copy_part(run, output, rows.data(), output.begin[0]);
}

// ---- Sparse rows ----

/// Each row in `most` places: its entries, then places of index 0 and value 0.
struct SparseFile {
  FileSystem* files;
  std::string folder, path;
  std::int64_t rows, most, features;
};

std::unique_ptr<KernelState> prepare_libsvm(const KernelSetup& setup) {
  const auto& path = setup.attrs.get<std::string>("path");
  require_folder(setup, path);
  return keep(SparseFile{setup.files, std::string(setup.data_folder), path, setup.attrs.get<std::int64_t>("rows"),
                         setup.attrs.get<std::int64_t>("most"), setup.attrs.get<std::int64_t>("features")});
}

/// The places of this task's part of one output, from the entries of its rows.
template <class T>
void place_entries(const Array& output, const LibsvmRows& rows, std::span<const T> entries) {
  const std::int64_t most = output.sizes[1];
  std::fill_n(output.as<T>(), output.count(), T{});
  for (std::int64_t row = 0; row < output.sizes[0]; ++row) {
    const std::int64_t begin = rows.offsets[static_cast<std::size_t>(row)] + output.begin[1];
    const std::int64_t n = std::min(rows.offsets[static_cast<std::size_t>(row) + 1] - begin, most);
    if (n > 0) std::copy_n(entries.begin() + begin, n, output.as<T>() + row * most);
  }
}

void read_libsvm_file(KernelRun& run) {
  constexpr std::uint64_t kEntryBytes = 32;
  const auto& file = kept<SparseFile>(run);
  const auto limit =
      static_cast<std::uint64_t>(file.rows) * static_cast<std::uint64_t>(file.most + 1) * kEntryBytes + kSlack;
  const FileBytes bytes = maybe_decompress(file.files->read_beneath(file.folder, file.path, limit), limit, file.path);
  if (const std::int64_t found = libsvm_rows(bytes.text()); found < file.rows)
    throw Error(Code::file, in_quotes(file.path) + " holds " + std::to_string(found) + " rows; the graph declares " +
                                std::to_string(file.rows));
  const LibsvmBounds bounds{file.rows, file.most, file.features};
  LibsvmRange range;
  LibsvmRows rows;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const Array& output = run.outputs[i];
    if (i == 0 || range.first != output.begin[0] || range.count != output.sizes[0]) {
      range = {output.begin[0], output.sizes[0]};
      rows = parse_libsvm(bytes.text(), file.path, bounds, range);
    }
    if (i == 0) std::copy(rows.labels.begin(), rows.labels.end(), output.as<float>());
    if (i == 1) place_entries<float>(output, rows, rows.values);
    if (i == 2) place_entries<std::int32_t>(output, rows, rows.indices);
  }
}

constexpr char kRaw[] = "raw";
constexpr char kSafetensors[] = "safetensors";

constexpr Kernel kKernels[] = {
    {.op = "ReadIdx", .run = read_idx_file, .prepare = prepare, .takes = kAnyType},
    {.op = "ReadNpy", .run = read_npy_file, .prepare = prepare, .takes = kAnyType},
    {.op = "ReadRaw", .run = read_array_file, .prepare = prepare_array<kRaw>, .takes = kAnyType},
    {.op = "ReadSafetensors", .run = read_array_file, .prepare = prepare_array<kSafetensors>, .takes = kAnyType},
    {.op = "ReadLibsvm", .run = read_libsvm_file, .prepare = prepare_libsvm, .takes = kAnyType},
    {.op = "ReadCsv", .run = read_csv_file, .prepare = prepare, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> file_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
