// Windows: values made of another value's elements at shifted positions. Halos: the rows of a split dim that a task
// reads for its windows and that other tasks hold. A row is all elements at one index of that dim.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/types/layout.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The windows p that contain an element k: begin + p * step <= k < begin + p * step + extent. If extent is 0, there
/// are no windows, and p is k.
struct Covering {
  std::int64_t begin = 0, step = 1, extent = 0;
  bool operator==(const Covering&) const = default;

  /// The first window with an element at or after k, and the last window with an element at or before k.
  [[nodiscard]] std::int64_t first(std::int64_t k) const {
    return extent == 0 ? k : -divided(begin + extent - 1 - k, step);
  }
  [[nodiscard]] std::int64_t last(std::int64_t k) const { return extent == 0 ? k : divided(k - begin, step); }

 private:
  /// a / b, rounded down.
  static std::int64_t divided(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
};

/// The rows of another dim that a dim of `size` elements reads. Element k reads `extent` rows, from row begin + p *
/// step on, for p = k, or for all windows p that contain element k. Steps are at least 1. Rows outside the other dim
/// are not read.
struct Reads {
  std::int64_t begin = 0, step = 1, size = 0;
  std::int64_t extent = 1;
  Covering windows = {};
  bool operator==(const Reads&) const = default;

  /// The rows, of `whole` rows, from the first to the last that elements [part.begin, part.begin + part.size) read.
  [[nodiscard]] Part rows_of(const Part& part, std::int64_t whole) const {
    if (part.size == 0) return {};
    const std::int64_t first = windows.first(part.begin), last = windows.last(part.begin + part.size - 1);
    if (last < first) return {};
    const std::int64_t begin_row = std::max<std::int64_t>(begin + first * step, 0);
    const std::int64_t end_row = std::min(begin + last * step + extent, whole);
    return begin_row < end_row ? Part{begin_row, end_row - begin_row} : Part{};
  }
};

/// A dim along which an op slides windows over some of its inputs. It may be split although the index notation marks it
/// as whole. Then each task computes its part, and holds the rows of these inputs that its part reads.
struct SlidingDim {
  int output = -1;  ///< the dim of output 0 that is split; -1: none, and the tasks compute partial results
  struct Input {
    int input = 0, dim = 0;
    Reads reads;
  };
  std::vector<Input> inputs;  ///< the inputs that are split along the dim; other inputs are not
};

/// A value made of elements of another value. Its element at k[d] along each dim d is the other value's element at
/// dims[d].begin + k[d] * dims[d].step, or `fill` if that is outside.
struct WindowOf {
  std::vector<Reads> dims;
  double fill = 0;

  /// Whether the window differs from the other value along dim d, which has `size` elements there.
  [[nodiscard]] bool cuts(std::size_t d, std::int64_t size) const {
    return dims[d] != Reads{.begin = 0, .step = 1, .size = size};
  }
};

/// A dim of `whole` rows that is split over `parts` tasks by part_of(), and the values that read it, which are split in
/// the same way. Task i reads all rows from the first to the last that its parts of these values read.
struct Halo {
  std::int64_t whole = 0, parts = 1;
  std::vector<Reads> reads;

  /// The rows that `task` reads.
  [[nodiscard]] Part rows_read(std::int64_t task) const {
    std::int64_t begin = whole, end = 0;
    for (const Reads& one : reads) {
      const Part rows = one.rows_of(part_of(one.size, parts, task), whole);
      if (rows.size == 0) continue;
      begin = std::min(begin, rows.begin);
      end = std::max(end, rows.begin + rows.size);
    }
    return end > begin ? Part{begin, end - begin} : Part{};
  }
  /// The rows that `reader` reads and `owner` holds. If the two tasks differ, these rows are in the halo of `reader`.
  [[nodiscard]] Part rows_between(std::int64_t owner, std::int64_t reader) const {
    const Part own = part_of(whole, parts, owner), read = rows_read(reader);
    const std::int64_t begin = std::max(own.begin, read.begin);
    const std::int64_t end = std::min(own.begin + own.size, read.begin + read.size);
    return {begin, std::max<std::int64_t>(end - begin, 0)};
  }
  /// The number of rows that `task` gets from other tasks, and the number that it sends. A row that several tasks get
  /// counts once for each.
  [[nodiscard]] std::int64_t rows_got(std::int64_t task) const {
    return rows_read(task).size - rows_between(task, task).size;
  }
  [[nodiscard]] std::int64_t rows_given(std::int64_t task) const {
    std::int64_t rows = 0;
    for (std::int64_t other = 0; other < parts; ++other)
      if (other != task) rows += rows_between(task, other).size;
    return rows;
  }

  bool operator==(const Halo&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
