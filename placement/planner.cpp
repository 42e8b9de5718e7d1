#include "placement/planner.hpp"

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "graph/legality.hpp"
#include "placement/program/program.hpp"

namespace ferry {
namespace {

/// Runs one pass: the only place that names and times them.
class Pipeline {
 public:
  explicit Pipeline(const PlanOptions& options) : options_(options) {}

  template <class Pass>
  decltype(auto) run(std::string_view name, Pass pass) {
    const TimePoint start = system_clock().now();
    const auto report = [&] {
      if (options_.on_pass) options_.on_pass(name, std::chrono::duration<double>(system_clock().now() - start).count());
    };
    if constexpr (std::is_void_v<decltype(pass())>) {
      pass();
      report();
    } else {
      auto result = pass();
      report();
      return result;
    }
  }

 private:
  const PlanOptions& options_;
};

}  // namespace

PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                     const Capabilities& capabilities, const PlanOptions& options) {
  if (options.bucket_bytes && *options.bucket_bytes < 0)
    throw Error(Code::usage, "buckets of " + std::to_string(*options.bucket_bytes) + " bytes").hint("0 or more");
  check_legal(graph);
  Pipeline pipeline(options);
  Topology planned_on = topology;
  if (options.one_host)
    for (TaskInfo& task : planned_on.tasks) task.host = 0;
  Program program = pipeline.run("select", [&] { return select(graph, signature, planned_on, capabilities, options); });
  pipeline.run("assign_devices", [&] { assign_devices(program); });
  pipeline.run("propagate", [&] { propagate(program); });
  pipeline.run("reshard", [&] { reshard(program); });
  pipeline.run("fuse_messages", [&] { fuse_messages(program); });
  pipeline.run("coalesce", [&] { coalesce(program); });
  PlanResult result;
  result.plan = pipeline.run("lower", [&] { return lower(program); });
  result.plan.topology = topology;
  result.plan.bucket_bytes = options.bucket_bytes;
  result.reasons = std::move(program.reasons);
  result.warnings = std::move(program.warnings);
  return result;
}

}  // namespace ferry
