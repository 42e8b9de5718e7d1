// Where a run's scalars go, as its options say.
#pragma once

#include <cstdint>

#include "runner/files/metrics.hpp"
#include "runner/options/run_options.hpp"

namespace ferry {

/// What --metrics and --tensorboard ask for. `before`: steps that were done before this run.
[[nodiscard]] MetricsSinks sinks_of(const RunOptions& options, std::int64_t before);

}  // namespace ferry
