#include "kernels/cpu/data/text_file.hpp"

#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/types/element_text.hpp"

namespace ferry::cpu {

namespace {

std::string text_of(NumberFault fault, DType dtype) {
  switch (fault) {
    case NumberFault::none:
      return "";
    case NumberFault::no_number:
      return "is not a number";
    case NumberFault::not_whole:
      return "is not a whole number, as " + std::string(name_of(dtype)) + " must be";
    case NumberFault::out_of_range:
      break;
  }
  return "is out of the range of " + std::string(name_of(dtype));
}

}  // namespace

CsvFieldHandler store_numbers(DType dtype, std::int64_t most, std::byte* target) {
  return [dtype, target, left = most](std::string_view field) mutable {
    std::byte beyond[sizeof(double)];
    const NumberFault fault = parse_element(field, dtype, left > 0 ? target : beyond);
    if (left-- > 0) target += size_of(dtype);
    return text_of(fault, dtype);
  };
}

TextFile::TextFile(FileSystem& files, std::string_view folder, DeclaredArray declared) : RowFile(std::move(declared)) {
  const bool sparse = declared_.format == "libsvm";
  file_ = files.open_beneath(std::string(folder), declared_.path);
  rows_.emplace(*file_, declared_.skip, sparse, rows() + 1);  // the first row may have the names of the columns
  if (!sparse && rows_->rows() > 0) {
    const FileBytes first = rows_->read(*file_, 0, 1);
    const auto any = [](std::string_view) { return std::string(); };
    if (parse_csv(first.text(), declared_.path, {.first_line = rows_->line(0)}, any).rows == 0) rows_->drop_first();
  }
  if (rows_->rows() > rows()) declared_.throw_mismatch("more than " + std::to_string(rows()) + " rows");
  if (rows_->rows() < rows()) declared_.throw_mismatch(std::to_string(rows_->rows()) + " rows");
}

void TextFile::read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t /*epoch*/) const {
  if (count == 0) return;
  const FileBytes text = rows_->read(*file_, first, count);
  if (declared_.format == "libsvm")
    read_sparse(text.text(), first, target);
  else
    read_table(text.text(), first, count, target);
}

void TextFile::read_table(std::string_view text, std::int64_t first, std::int64_t count, std::byte* target) const {
  const std::int64_t line = rows_->line(first), columns = declared_.type.shape[1].size();
  const CsvTable table = parse_csv(text, declared_.path, {.begins_file = false, .first_line = line},
                                   store_numbers(declared_.type.dtype, count * columns, target));
  if (static_cast<std::int64_t>(table.columns) != columns)
    declared_.throw_mismatch(std::to_string(table.columns) + " numbers in line " + std::to_string(line));
}

void TextFile::read_sparse(std::string_view text, std::int64_t first, std::byte* target) const {
  const Shape& shape = declared_.type.shape;
  const std::int64_t most = shape.rank() == 1 ? std::numeric_limits<std::int64_t>::max() : shape[1].size();
  const LibsvmRows rows =
      parse_libsvm(text, declared_.path, {.entries = most, .features = declared_.features}, {}, rows_->line(first));
  if (declared_.tensor == "labels")
    std::copy(rows.labels.begin(), rows.labels.end(), reinterpret_cast<float*>(target));
  else if (declared_.tensor == "weights")
    std::copy(rows.weights.begin(), rows.weights.end(), reinterpret_cast<float*>(target));
  else if (declared_.tensor == "values")
    place_entries<float>(rows, rows.values, 0, most, reinterpret_cast<float*>(target));
  else
    place_entries<std::int32_t>(rows, rows.indices, 0, most, reinterpret_cast<std::int32_t*>(target));
}

}  // namespace ferry::cpu
