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

/// The form of a table. Each row has `columns` fields; parse_csv() passes the fields to its caller.
struct CsvTable {
  std::vector<std::string> names;  ///< names of the columns, from the header line; empty without a header line
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Receives the text of each field, row by row. Returns an error text such as "is not a number", or "" if the field is
/// valid.
using CsvFieldHandler = std::function<std::string(std::string_view field)>;

/// The position of a piece of text in its file.
struct CsvPart {
  bool begins_file = true;      ///< the piece is the start of the file, so its first line may be a header
  std::int64_t first_line = 1;  ///< line number of the first line, for messages
};

/// Parses a table and calls `take` for each field, without blanks and quotes around the field. The first line is a
/// header if none of its fields is a number (quotes inside a name stay as they are). LF or CRLF ends a line; the last
/// line may lack it. Empty lines are allowed only at the end. A UTF-8 byte order mark is skipped.
///
/// Throws Code::file with `name`:line:column (both from 1, the column in bytes) for
/// - an empty field, or a line break in quotes;
/// - a field of several numbers with other separators, such as "1;2", also in the first line;
/// - an error text from `take`;
/// - a row of another length.
[[nodiscard]] CsvTable parse_csv(std::string_view text, std::string_view name, const CsvPart& part,
                                 const CsvFieldHandler& take);

/// `text` without its first `lines` lines; empty if `text` has fewer lines.
[[nodiscard]] std::string_view without_lines(std::string_view text, std::int64_t lines);

}  // namespace ferry
#pragma GCC visibility pop
