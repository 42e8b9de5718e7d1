// Where a run's scalars go, as its options say.
#pragma once

#include <cstdint>

#include "runner/files/metrics.hpp"
#include "runner/options/run_options.hpp"
#include "runner/report/curves.hpp"

namespace ferry {

/// What --metrics, --tensorboard and --report ask for; the last goes to `curves`, which must outlive the sinks.
/// `before`: steps that were done before this run.
[[nodiscard]] MetricsSinks sinks_of(const RunOptions& options, std::int64_t before, Curves& curves);

}  // namespace ferry
