// Where the rows of a text lie in its file, so that some of them can be read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/files/files.hpp"

namespace ferry {

/// The lines that hold something. The file is read once, in pieces, when this is made; memory: 8 bytes a row. May be
/// read from any thread afterwards.
class TextRows {
 public:
  /// The first `skip` lines are no rows. With `comments`, what follows a '#' in a line does not count; without, an
  /// empty line before a row is a Code::file, naming it; so is NUL anywhere.
  /// Behind `most` rows no more is read, and rows() is above that.
  TextRows(const FileReader& file, std::int64_t skip, bool comments, std::int64_t most = INT64_MAX);

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  /// The row's line in the file, from 1.
  [[nodiscard]] std::int64_t line(std::int64_t row) const;
  /// The lines of rows [first, first + count), and what stands between them.
  [[nodiscard]] FileBytes read(const FileReader& file, std::int64_t first, std::int64_t count) const;
  /// The first row is none.
  void drop_first();

 private:
  std::vector<std::uint64_t> begins_;  // of the rows, and the end of the last one
  std::vector<std::pair<std::int64_t, std::int64_t>>
      lines_;  // (row, line): rows from there on are in the lines from there on
  std::int64_t dropped_ = 0;
};

}  // namespace ferry
