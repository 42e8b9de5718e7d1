// TextRows: the positions of the rows in a text file, so that some of them can be read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/files/files.hpp"

namespace ferry {

/// Finds the rows of a text, which are its lines that are not empty. The constructor reads the file once, in pieces;
/// memory: 8 bytes a row. Const functions may be called from any thread.
class TextRows {
 public:
  /// Skips the first `skip` lines. With `comments`, ignores the rest of a line from a '#' on. Throws Code::file, with
  /// the line, for a NUL, and without `comments` for an empty line before a row. If the file has more than `most` rows,
  /// the constructor stops reading soon after them, and rows() is above `most`.
  TextRows(const FileReader& file, std::int64_t skip, bool comments, std::int64_t most = INT64_MAX);

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  /// The row's line in the file, from 1.
  [[nodiscard]] std::int64_t line(std::int64_t row) const;
  /// The text of rows [first, first + count), with the lines between them that are not rows.
  [[nodiscard]] FileBytes read(const FileReader& file, std::int64_t first, std::int64_t count) const;
  /// Removes the first row, for a caller that has found it to be a header.
  void drop_first();

 private:
  std::vector<std::uint64_t> begins_;  // where each row begins, and the end of the file
  std::vector<std::pair<std::int64_t, std::int64_t>>
      lines_;  // (row, line): from `row` on, the rows are consecutive lines, and the first of them is `line`
  std::int64_t dropped_ = 0;
};

}  // namespace ferry
