// The planner: graph in, plan out. A pure function: equal inputs give equal bytes on every task and from every
// compiler.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/constant_op.hpp"
#include "kernels/traits.hpp"
#include "plan/fuse_from.hpp"
#include "plan/plan.hpp"
#include "plan/plan_result.hpp"
#include "plan/signature.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The report on a pass after it has run.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  ///< its result as text; of a pass over a plan class, that class alone
};

struct PlanOptions {
  bool soft_placement = false;
  DeviceKind default_device = DeviceKind::cpu;
  bool reasons = false;  ///< fill PlanResult::reasons
  /// Plan as if all tasks were on one host, so that layouts, schedules and with them the order of sums do not depend on
  /// where tasks are; GPUs fold sums in that order, too.
  bool one_host = false;
  /// Consecutive sums share a message until it has this many bytes. 0: no two values share a message, between hosts
  /// neither. Not given: the topology's links decide.
  std::optional<std::int64_t> bucket_bytes;
  /// Elementwise ops on at least this many elements are fused and run tile by tile; 0: none are.
  std::int64_t fuse_from = kFuseFrom;
  /// Checks the program or plan after each pass; Error(bug) names the pass that broke it.
  bool check_passes = false;
  /// Gives the outputs of such an op, or none if it cannot. It is asked only for what every machine computes alike.
  /// Null: no constants are folded.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
  std::function<void(const PassReport&)> on_pass = {};  ///< called after each pass
};

/// Error(plan) names op, device and line, also for an illegal graph (check_legal) and for a plan that costs more than
/// the graph's budget; Error(usage) for a signature that does not fit the graph.
[[nodiscard]] PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                                   const KernelLookup& kernels, const PlanOptions& options = {});

/// The names of all passes, in order. Those after "lower" run once for each plan class.
[[nodiscard]] std::vector<std::string_view> pass_names();

}  // namespace ferry
#pragma GCC visibility pop
