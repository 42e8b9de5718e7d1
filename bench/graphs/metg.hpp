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

/// The smallest granularity with an efficiency of one half: interpolated linearly between the first grain that reaches
/// it and the finer one before. `grains` go from fine to coarse. Infinity where none reaches one half.
[[nodiscard]] double metg(std::span<const Grain> grains);

}  // namespace ferry::bench
