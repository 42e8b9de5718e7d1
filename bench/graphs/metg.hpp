// METG, the minimum effective task granularity, as Task Bench defines it.
#pragma once

#include <span>

namespace ferry::bench {

/// A task graph measured with tasks of one size.
struct Grain {
  double ideal = 0;  ///< time that a task's computing takes at the peak rate of a core
  double taken = 0;  ///< its granularity: the whole graph's time × cores ÷ tasks
  [[nodiscard]] double efficiency() const { return ideal / taken; }
};

/// The smallest granularity that keeps half of the peak: that of the first grain which does, or less by a straight line
/// to the one before. `grains`: from fine to coarse. Infinity where none keeps half.
[[nodiscard]] double metg(std::span<const Grain> grains);

}  // namespace ferry::bench
