// Sparse rows of numbers as LibSVM's tools write them (https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets): a line
// is a label, then index:value pairs in ascending order of the index; an index alone has the value 1. A label may have
// a weight, as in "1:0.5". After the label, a line may have "qid:" and an integer, which ferry ignores. All functions
// are thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Limits of the rows that a caller accepts. A file above a limit is an error, which names the line.
struct LibsvmBounds {
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();
  std::int64_t entries = std::numeric_limits<std::int64_t>::max();   ///< per row
  std::int64_t features = std::numeric_limits<std::int32_t>::max();  ///< every index must be less than this
};

/// Rows [first, first + count) of a file.
struct LibsvmRange {
  std::int64_t first = 0;
  std::int64_t count = std::numeric_limits<std::int64_t>::max();
};

/// Compressed rows: the entries of row i are [offsets[i], offsets[i + 1]) of `values` and `indices`.
struct LibsvmRows {
  std::vector<float> labels;
  std::vector<float> weights;  ///< one for each label; 1 if the file has none
  std::vector<float> values;
  std::vector<std::int32_t> indices;  ///< as in the file, ascending within a row
  std::vector<std::int64_t> offsets;  ///< rows() + 1 offsets

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(labels.size()); }
};

/// The number of rows: lines that have more than blanks and a comment.
[[nodiscard]] std::int64_t libsvm_rows(std::string_view text);

/// Reads the rows of `range`, and skips other rows without checking them. `first_line` is the line number, in the file,
/// of the text's first line. Numbers are decimal or scientific; `#` begins a comment, LF or CRLF ends a line, a UTF-8
/// byte order mark is skipped. Throws Code::file with `name`:line:column (both from 1, the column in bytes) for a
/// label, index or value that is not a number, an index that does not ascend, a negative weight, and rows beyond
/// `bounds`.
[[nodiscard]] LibsvmRows parse_libsvm(std::string_view text, std::string_view name, const LibsvmBounds& bounds = {},
                                      const LibsvmRange& range = {}, std::int64_t first_line = 1);

/// Reads a file, plain or compressed by gzip or zstd. Neither the file nor its text may have more than `limit` bytes.
[[nodiscard]] LibsvmRows read_libsvm(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit,
                                     const LibsvmBounds& bounds = {}, const LibsvmRange& range = {});

}  // namespace ferry
#pragma GCC visibility pop
