// TextRows: where the rows of a text lie in its file, so that some of them can be read.
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
  /// The first `skip` lines are no rows. With `comments`, what follows a '#' in a line is ignored. Code::file, with the
  /// line, for a NUL, and without `comments` for an empty line before a row. If there are more than `most` rows, it
  /// stops reading soon after them, and rows() is above `most`.
  TextRows(const FileReader& file, std::int64_t skip, bool comments, std::int64_t most = INT64_MAX);

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  /// The row's line in the file, from 1.
  [[nodiscard]] std::int64_t line(std::int64_t row) const;
  /// The text of rows [first, first + count), including lines between them that are no rows.
  [[nodiscard]] FileBytes read(const FileReader& file, std::int64_t first, std::int64_t count) const;
  /// Removes the first row, for a caller that has found it to be a header.
  void drop_first();

 private:
  std::vector<std::uint64_t> begins_;  // where each row begins, and the end of the file
  std::vector<std::pair<std::int64_t, std::int64_t>>
      lines_;  // (row, line): from this row on, rows lie in consecutive lines from this line on
  std::int64_t dropped_ = 0;
};

}  // namespace ferry
