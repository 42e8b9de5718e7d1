// Windows: values whose elements are those of another one at other places; and halos: of a split dim, the rows that a
// task reads for them and other tasks have. A row is all elements at one index of that dim.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/types/layout.hpp"

namespace ferry {

/// A dim of a value that is read from another one: element k of `size` is element begin + k * step there, with step at
/// least 1. Where that is outside, nothing is read.
struct Reads {
  std::int64_t begin = 0, step = 1, size = 0;
  bool operator==(const Reads&) const = default;
};

/// A value whose element at k[d] along each dim d is the one at dims[d].begin + k[d] * dims[d].step of another value,
/// or `fill` where that is outside.
struct WindowOf {
  std::vector<Reads> dims;
  double fill = 0;

  /// Whether dim d, of `size` in the other value, is not read as it is.
  [[nodiscard]] bool cuts(std::size_t d, std::int64_t size) const {
    return dims[d] != Reads{.begin = 0, .step = 1, .size = size};
  }
};

/// A dim of `whole` rows that is split over `parts` tasks, as part_of() says, and what is read of it: values that are
/// split alike. Task i reads all rows between the first and the last that its parts of these values read.
struct Halo {
  std::int64_t whole = 0, parts = 1;
  std::vector<Reads> reads;

  /// The rows that `task` reads.
  [[nodiscard]] Part rows_read(std::int64_t task) const {
    std::int64_t begin = whole, end = 0;
    for (const Reads& one : reads) {
      const Part part = part_of(one.size, parts, task);
      const std::int64_t first = one.begin + part.begin * one.step;
      const std::int64_t last = first + (part.size - 1) * one.step;
      if (part.size == 0 || last < 0 || first >= whole) continue;
      begin = std::min(begin, std::max<std::int64_t>(first, 0));
      end = std::max(end, std::min(last + 1, whole));
    }
    return {begin, std::max<std::int64_t>(end - begin, 0)};
  }
  /// The rows that `reader` reads and `owner` has: in its halo, unless they are the same task.
  [[nodiscard]] Part rows_between(std::int64_t owner, std::int64_t reader) const {
    const Part own = part_of(whole, parts, owner), read = rows_read(reader);
    const std::int64_t begin = std::max(own.begin, read.begin);
    const std::int64_t end = std::min(own.begin + own.size, read.begin + read.size);
    return {begin, std::max<std::int64_t>(end - begin, 0)};
  }
  /// How many rows `task` gets from others, and how many it gives, a row once for each task that gets it.
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
