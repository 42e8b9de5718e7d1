// The planner: graph in, plan out. A pure function: equal inputs give equal bytes on every task and from every
// compiler.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/constant_op.hpp"
#include "kernels/traits.hpp"
#include "plan/plan.hpp"
#include "plan/plan_result.hpp"
#include "plan/planning_options.hpp"
#include "plan/signature.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// What a plan depends on besides graph, signature, topology and kernels.
struct PlanOptions : PlanningOptions {
  /// Plan as if all tasks were on one host, so that layouts, schedules and with them the order of sums do not depend on
  /// where tasks are; GPUs fold sums in that order, too.
  bool one_host = false;
  /// Gives the outputs of such an op, or none if it cannot. It is asked only for what every machine computes alike.
  /// Null: no constants are folded.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
};

/// Error(plan) names op, device and line, also for an illegal graph (check_legal) and for a plan that costs more than
/// the graph's budget; Error(usage) for a signature that does not fit the graph.
[[nodiscard]] PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                                   const KernelLookup& kernels, const PlanOptions& options = {});

/// Whether plans of the graph are made by Placing::automatic.
[[nodiscard]] bool is_placed_by_itself(const Graph& graph, const PlanningOptions& options);

/// The names of all passes, in order. Those after "lower" run once for each plan class.
[[nodiscard]] std::vector<std::string_view> pass_names();

}  // namespace ferry
#pragma GCC visibility pop
