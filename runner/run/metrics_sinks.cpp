#include "runner/run/metrics_sinks.hpp"

#include <memory>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"
#include "runner/files/event_files.hpp"
#include "runner/files/metrics_file.hpp"

namespace ferry {

MetricsSinks sinks_of(const RunOptions& options, std::int64_t before, Curves& curves) {
  MetricsSinks sinks;
  if (!options.metrics.empty())
    sinks.add(std::make_unique<MetricsFile>(options.metrics, before, local_files(), system_clock()));
  if (!options.tensorboard.empty())
    sinks.add(std::make_unique<EventFiles>(options.tensorboard, before, local_files(), system_clock()));
  if (!options.report.empty()) sinks.add(std::make_unique<CurvesSink>(curves));
  return sinks;
}

}  // namespace ferry
