#include "kernels/cpu/data/array_file.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/files/idx.hpp"
#include "base/files/npy.hpp"
#include "base/files/safetensors.hpp"
#include "base/format.hpp"
#include "graph/file/tensor_file.hpp"
#include "kernels/cpu/array/strided.hpp"

namespace ferry::cpu {
namespace {

void check_bools(std::span<const std::byte> bytes, const std::string& path, std::uint64_t begin) {
  const auto at = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (at == bytes.end()) return;
  throw Error(Code::file, "{:?}: byte {} is neither true nor false: {}", path,
              begin + static_cast<std::uint64_t>(at - bytes.begin()), static_cast<int>(*at));
}

}  // namespace

void require_folder(const KernelSetup& setup, const std::string& path) {
  if (setup.files == nullptr || setup.data_folder.empty())
    throw Error(Code::usage, "{}: there is no data folder to read {:?} from", as_is(setup.name), path)
        .hint("give --data DIR, or ExecutionOptions::data_folder");
}

void copy_part(const KernelRun& run, const Array& output, const std::byte* rows, std::int64_t first_row) {
  StridedCopy copy = copy_of_part(output);
  if (first_row > 0) copy.from_begin -= first_row * strides_of(output.whole)[0];
  run_copy(run.parallel, copy, output.dtype, rows, output.data);
}

void DeclaredArray::throw_mismatch(const std::string& found) const {
  throw Error(Code::file, "{:?} holds {}; the graph declares {}", path, as_is(found), as_is(type.str()));
}

RowFile::RowFile(DeclaredArray declared) : declared_(std::move(declared)) {
  const Type& type = declared_.type;
  row_bytes_ = size_of(type.dtype);
  for (int d = 1; d < type.shape.rank(); ++d) row_bytes_ *= static_cast<std::uint64_t>(type.shape[d].size());
}

ArrayFile::ArrayFile(FileSystem& files, std::string_view folder, DeclaredArray declared)
    : RowFile(std::move(declared)), files_(files), folder_(folder) {
  if (declared_.format == "raw" && declared_.path.ends_with('/')) {
    open_folder(files);
  } else {
    open_one(files);
  }
}

void ArrayFile::open_one(FileSystem& files) {
  auto file = files.open_beneath(folder_, declared_.path);
  if (declared_.format == "raw") {
    add_raw(declared_.path, file->size());
    if (pieces_.back().rows != rows()) declared_.throw_mismatch(std::to_string(pieces_.back().rows) + " rows");
  } else {
    const ArrayPlace place = place_in(*file);
    const DType dtype = declared_.type.dtype;
    const std::string_view wanted = declared_.format == "safetensors" ? safetensors_name(dtype) : npy_descr_of(dtype);
    if (place.dtype != wanted || place.shape != declared_.type.shape.sizes())
      declared_.throw_mismatch(
          formatted("{:?} of {}", place.dtype, as_is(Shape(std::span<const std::int64_t>(place.shape)).str())));
    reversed_ = place.reversed;
    pieces_.push_back({.path = declared_.path, .rows = rows(), .begin = place.begin});
  }
  pieces_.back().kept = std::move(file);
}

void ArrayFile::open_folder(FileSystem& files) {
  std::int64_t found = 0;
  for (const std::string& name : files.list(folder_ + "/" + declared_.path)) {
    const std::string path = declared_.path + name;
    add_raw(path, files.open_beneath(folder_, path)->size());
    found += pieces_.back().rows;
  }
  if (found != rows())
    declared_.throw_mismatch(std::to_string(pieces_.size()) + " files with " + std::to_string(found) + " rows");
}

ArrayPlace ArrayFile::place_in(const FileReader& file) const {
  if (declared_.format == "idx") return idx_place(file);
  if (declared_.format == "npy") return npy_place(file);
  return safetensors_place(file, declared_.tensor);
}

void ArrayFile::add_raw(const std::string& path, std::uint64_t size) {
  if (row_bytes_ == 0 ? size != 0 : size % row_bytes_ != 0)
    throw Error(Code::file, "{:?} has {} bytes, which are not whole rows of {}; the graph declares {}", path, size,
                row_bytes_, as_is(declared_.type.str()));
  const std::int64_t first = pieces_.empty() ? 0 : pieces_.back().first + pieces_.back().rows;
  const std::int64_t rows = row_bytes_ == 0 ? this->rows() : static_cast<std::int64_t>(size / row_bytes_);
  pieces_.push_back({.path = path, .first = first, .rows = rows});
}

void ArrayFile::read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t /*epoch*/) const {
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), first,
                                [](std::int64_t row, const Piece& p) { return row < p.first + p.rows; });
  for (; count > 0; ++piece) {
    const std::int64_t n = std::min(count, piece->first + piece->rows - first);
    const std::size_t bytes = static_cast<std::size_t>(n) * row_bytes_;
    read_piece(*piece, first - piece->first, {target, bytes});
    target += bytes;
    first += n;
    count -= n;
  }
}

void ArrayFile::read_piece(const Piece& piece, std::int64_t first, std::span<std::byte> target) const {
  const std::uint64_t begin = piece.begin + static_cast<std::uint64_t>(first) * row_bytes_;
  if (piece.kept != nullptr) {
    piece.kept->read(begin, target);
  } else {
    files_.open_beneath(folder_, piece.path)->read(begin, target);
  }
  reverse_items(target, reversed_);
  if (declared_.type.dtype == DType::boolean) check_bools(target, piece.path, begin);
}

}  // namespace ferry::cpu
