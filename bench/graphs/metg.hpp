// METG, the minimum effective task granularity, as Task Bench defines it.
#pragma once

#include <span>

namespace ferry::bench {

/// The measurement of a task graph with tasks of one size.
struct Grain {
  double ideal = 0;  ///< time of a task's computation at the peak rate of a core
  double taken = 0;  ///< the granularity of a task: the whole graph's time × cores ÷ tasks
  [[nodiscard]] double efficiency() const { return ideal / taken; }
};

/// The smallest granularity with an efficiency of one half, interpolated linearly between the first grain that reaches
/// it and the previous, finer grain. `grains` go from fine to coarse. Infinity if no grain reaches one half.
[[nodiscard]] double metg(std::span<const Grain> grains);

}  // namespace ferry::bench
