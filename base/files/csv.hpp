// Tables of numbers as comma-separated values (RFC 4180). All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Numbers in rows, which all have the same length.
struct CsvTable {
  std::vector<std::string> names;  ///< of the columns, from the header line; empty without one
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;  ///< rows × columns, row after row
};

/// Where a piece of text lies in its file.
struct CsvPart {
  bool begins_file = true;      ///< its first line may be a header
  std::int64_t first_line = 1;  ///< for messages
};

/// Reads numbers: decimal, scientific, inf, nan, with blanks and quotes around them. The first line is a header when
/// none of its fields is a number (quotes inside a name stay as they are). LF or CRLF ends a line, the last may lack
/// it; empty lines may stand at the end only; a UTF-8 byte order mark is skipped. Throws Code::file with
/// `name`:line:column (both from 1, the column in bytes) for a field that is empty, not a number or beyond float64's
/// range, and for a row of another length.
[[nodiscard]] CsvTable parse_csv(std::string_view text, std::string_view name, char separator = ',',
                                 const CsvPart& part = {});

/// Reads a file, plain or packed by gzip or zstd; neither the file nor its text may have more than `limit` bytes.
[[nodiscard]] CsvTable read_csv(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit,
                                char separator = ',');

}  // namespace ferry
#pragma GCC visibility pop
