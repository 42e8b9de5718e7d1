// Makes the sinks of a run's scalars from its options.
#pragma once

#include <cstdint>

#include "runner/files/metrics.hpp"
#include "runner/options/run_options.hpp"
#include "runner/report/curves.hpp"

namespace ferry {

/// The sinks for --metrics, --tensorboard and --report. The sink of --report adds to `curves`, which must outlive the
/// sinks. `before`: the number of steps done before this run.
[[nodiscard]] MetricsSinks sinks_of(const RunOptions& options, std::int64_t before, Curves& curves);

}  // namespace ferry
