// Where a run's scalars go, as its options say.
#pragma once

#include <cstdint>

#include "runner/files/metrics.hpp"
#include "runner/options/run_options.hpp"

namespace ferry {

/// Adds what --metrics and --tensorboard ask for. `before`: steps that were done before this run.
void add_sinks(const RunOptions& options, std::int64_t before, MetricsSinks& sinks);

}  // namespace ferry
