// Rows of numbers in a text file, read on demand.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/files/csv.hpp"
#include "base/files/libsvm.hpp"
#include "base/files/text_rows.hpp"
#include "kernels/cpu/data/array_file.hpp"

namespace ferry::cpu {

/// Returns a function that parses fields as elements of this dtype, and stores up to `most` of them at `target`. A
/// number that the dtype cannot hold is a fault. A number too small for the dtype becomes 0 or a subnormal number.
[[nodiscard]] CsvFieldHandler store_numbers(DType dtype, std::int64_t most, std::byte* target);

/// Writes `places` entries of each row, from entry `first` on, and 0 after a row's last entry.
template <class T>
void place_entries(const LibsvmRows& rows, std::span<const T> entries, std::int64_t first, std::int64_t places,
                   T* output) {
  std::fill_n(output, rows.rows() * places, T{});
  for (std::size_t row = 0; row < rows.labels.size(); ++row, output += places) {
    const std::int64_t begin = rows.offsets[row] + first;
    const std::int64_t n = std::min(rows.offsets[row + 1] - begin, places);
    if (n > 0) std::copy_n(entries.begin() + begin, n, output);
  }
}

/// A CSV or LibSVM file. The constructor reads the file once, to find the positions of its rows.
class TextFile final : public RowFile {
 public:
  /// Throws Error(file), with the file's name and its number of rows, if this number is not as declared.
  TextFile(FileSystem& files, std::string_view folder, DeclaredArray declared);
  void read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t epoch) const override;

 private:
  void read_table(std::string_view text, std::int64_t first, std::int64_t count, std::byte* target) const;
  void read_sparse(std::string_view text, std::int64_t first, std::byte* target) const;

  std::unique_ptr<FileReader> file_;
  std::optional<TextRows> rows_;
};

}  // namespace ferry::cpu
