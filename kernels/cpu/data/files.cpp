// Kernels that read data files as values. They read a file once in a session, and check it against the declaration in
// the graph.

#include "base/files/files.hpp"
#include "base/files/compress.hpp"
#include "base/files/idx.hpp"
#include "base/files/libsvm.hpp"
#include "base/files/npy.hpp"
#include "base/format.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/cpu/data/array_file.hpp"
#include "kernels/cpu/data/text_file.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// The bytes allowed for headers, blanks and line ends, in addition to the bytes of the declared type.
constexpr std::uint64_t kSlack = std::uint64_t{1} << 20;
/// The most bytes of an element in a file. The file's dtype may differ from the declared dtype.
constexpr std::uint64_t kMostElementBytes = 16;
/// The most bytes of a number, or of an entry "index:value", in a text, with its blanks and separators: far more than
/// programs write, so that only files that are meant to fill the memory are refused.
constexpr std::uint64_t kMostNumberBytes = 1024;

/// Returns the content of a file, decompressed. `limit`, in bytes, holds only for a packed file: without a limit, a
/// small packed file could fill the memory.
FileBytes unpacked(FileSystem& files, const std::string& folder, const std::string& path, std::uint64_t limit) {
  FileBytes bytes = files.read_beneath(folder, path);
  const std::uint64_t most = std::max<std::uint64_t>(limit, bytes.size());
  return maybe_decompress(std::move(bytes), most, path);
}

struct DataFile {
  FileSystem* files;
  std::string folder;
  DeclaredArray declared;

  /// Returns the content. A packed file may have `bytes_for_each` bytes for each element, plus kSlack.
  [[nodiscard]] FileBytes read(std::uint64_t bytes_for_each) const {
    const std::uint64_t limit = static_cast<std::uint64_t>(declared.type.shape.count()) * bytes_for_each + kSlack;
    try {
      return unpacked(*files, folder, declared.path, limit);
    } catch (Error& error) {
      throw error.note("the graph declares " + declared.type.str());
    }
  }
};

template <const char* kFormat>
std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const auto& path = setup.attrs.get<std::string>("path");
  require_folder(setup, path);
  return keep(DataFile{setup.files, std::string(setup.data_folder),
                       DeclaredArray{.format = kFormat,
                                     .path = path,
                                     .tensor = setup.attrs.get_or<std::string>("tensor", ""),
                                     .type = Type{setup.attrs.get<DType>("dtype"), setup.attrs.get<Shape>("shape")},
                                     .skip = setup.attrs.get_or<std::int64_t>("skip", 0)}});
}

void copy_array(const KernelRun& run, const NpyArray& array) {
  const DeclaredArray& declared = kept<DataFile>(run).declared;
  if (array.descr != npy_descr_of(declared.type.dtype) || array.shape != declared.type.shape.sizes())
    declared.throw_mismatch(
        formatted("{:?} of {}", array.descr, as_is(Shape(std::span<const std::int64_t>(array.shape)).str())));
  copy_part(run, run.outputs[0], array.bytes.data());
}

void read_idx_file(KernelRun& run) {
  const auto& file = kept<DataFile>(run);
  copy_array(run, parse_idx(file.read(kMostElementBytes), file.declared.path));
}

void read_npy_file(KernelRun& run) {
  const auto& file = kept<DataFile>(run);
  copy_array(run, parse_npy(file.read(kMostElementBytes), file.declared.path));
}

void read_csv_file(KernelRun& run) {
  const auto& file = kept<DataFile>(run);
  const DeclaredArray& declared = file.declared;
  const FileBytes bytes = file.read(kMostNumberBytes);
  if (bytes.size() == 0) declared.throw_mismatch("nothing");
  const std::vector<std::int64_t> sizes = declared.type.shape.sizes();
  Tensor numbers(declared.type.dtype, sizes);
  const CsvTable table =
      parse_csv(without_lines(bytes.text(), declared.skip), declared.path, {.first_line = declared.skip + 1},
                store_numbers(declared.type.dtype, numbers.count(), numbers.mutable_bytes().data()));
  if (static_cast<std::int64_t>(table.rows) != sizes[0] || static_cast<std::int64_t>(table.columns) != sizes[1])
    declared.throw_mismatch(std::to_string(table.rows) + " rows of " + std::to_string(table.columns) + " numbers");
  copy_part(run, run.outputs[0], numbers.bytes().data());
}

// ---- Files that are read in part ----

void read_array_file(KernelRun& run) {
  const auto& [files, folder, declared] = kept<DataFile>(run);
  const ArrayFile file(*files, folder, declared);
  Array output = run.outputs[0];
  if (output.count() == 0) return;
  const bool whole_rows = std::equal(output.sizes.begin() + 1, output.sizes.end(), output.whole.begin() + 1);
  if (whole_rows) return file.read(output.begin[0], output.sizes[0], output.data, 0);
  FileBytes rows(static_cast<std::uint64_t>(output.sizes[0]) * file.row_bytes());
  file.read(output.begin[0], output.sizes[0], rows.data(), 0);
  copy_part(run, output, rows.data(), output.begin[0]);
}

// ---- Sparse rows ----

/// A file of sparse rows. Each row has `most` places in the output: its entries, followed by index 0 and value 0.
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

/// Returns the text of the file. Throws Error(file) if it has fewer rows than the graph declares.
FileBytes text_of(const SparseFile& file) {
  const auto limit =
      static_cast<std::uint64_t>(file.rows) * static_cast<std::uint64_t>(file.most + 1) * kMostNumberBytes + kSlack;
  FileBytes bytes = unpacked(*file.files, file.folder, file.path, limit);
  if (const std::int64_t found = libsvm_rows(bytes.text()); found < file.rows)
    throw Error(Code::file, "{:?} holds {} rows; the graph declares {}", file.path, found, file.rows);
  return bytes;
}

void read_libsvm_file(KernelRun& run) {
  const auto& file = kept<SparseFile>(run);
  const FileBytes bytes = text_of(file);
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
    if (i == 1) place_entries<float>(rows, rows.values, output.begin[1], output.sizes[1], output.as<float>());
    if (i == 2)
      place_entries<std::int32_t>(rows, rows.indices, output.begin[1], output.sizes[1], output.as<std::int32_t>());
  }
}

void read_libsvm_weights(KernelRun& run) {
  const auto& file = kept<SparseFile>(run);
  const Array& output = run.outputs[0];
  const LibsvmRows rows = parse_libsvm(text_of(file).text(), file.path, {file.rows, file.most, file.features},
                                       {output.begin[0], output.sizes[0]});
  std::copy(rows.weights.begin(), rows.weights.end(), output.as<float>());
}

constexpr char kIdx[] = "idx";
constexpr char kNpy[] = "npy";
constexpr char kCsv[] = "csv";
constexpr char kRaw[] = "raw";
constexpr char kSafetensors[] = "safetensors";

constexpr Kernel kKernels[] = {
    {.op = "ReadIdx", .run = read_idx_file, .prepare = prepare<kIdx>, .takes = kAnyType},
    {.op = "ReadNpy", .run = read_npy_file, .prepare = prepare<kNpy>, .takes = kAnyType},
    {.op = "ReadRaw", .run = read_array_file, .prepare = prepare<kRaw>, .takes = kAnyType},
    {.op = "ReadSafetensors", .run = read_array_file, .prepare = prepare<kSafetensors>, .takes = kAnyType},
    {.op = "ReadLibsvm", .run = read_libsvm_file, .prepare = prepare_libsvm, .takes = kAnyType},
    {.op = "ReadLibsvmWeights", .run = read_libsvm_weights, .prepare = prepare_libsvm, .takes = kAnyType},
    {.op = "ReadCsv", .run = read_csv_file, .prepare = prepare<kCsv>, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> file_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
