// Tables of numbers as comma-separated values (RFC 4180). All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// The rows of a text, which all have the same length.
struct CsvTable {
  std::vector<std::string> names;  ///< of the columns, from the header line; empty without one
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Takes the text of a field, row after row; returns what is wrong with it, "is not a number", or an empty text.
using CsvTake = std::function<std::string(std::string_view field)>;

/// The position of a piece of text in its file.
struct CsvPart {
  bool begins_file = true;      ///< its first line may be a header
  std::int64_t first_line = 1;  ///< for messages
};

/// Gives the fields to `take`, without blanks and quotes around them. The first line is a header when none of its
/// fields is a number (quotes inside a name stay as they are). LF or CRLF ends a line, the last may lack it; empty
/// lines may stand at the end only; a UTF-8 byte order mark is skipped. Throws Code::file with `name`:line:column (both
/// from 1, the column in bytes) for a field that is empty, that has a line break in its quotes or that `take` finds
/// wrong, and for a row of another length.
[[nodiscard]] CsvTable parse_csv(std::string_view text, std::string_view name, const CsvPart& part,
                                 const CsvTake& take);

/// `text` without its first lines; nothing if it has fewer.
[[nodiscard]] std::string_view without_lines(std::string_view text, std::int64_t lines);

}  // namespace ferry
#pragma GCC visibility pop
