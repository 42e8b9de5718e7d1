// make_plan: the planner, which turns a graph into a plan. It is a pure function: equal inputs give equal bytes on
// every task and from every compiler.
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

/// The options that a plan depends on, in addition to graph, signature, topology and kernels.
struct PlanOptions : PlanningOptions {
  /// Plan as if all tasks were on one host. Then layouts, schedules, and the order of sums do not depend on the hosts
  /// of the tasks. GPUs also fold sums in that order.
  bool one_host = false;
  /// Returns the outputs of an op on constants, or nothing if it cannot compute them. It is called only for ops that
  /// give the same result on every machine. Null: no constants are folded.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
};

/// Throws Error(plan), which names op, device and line; also for an illegal graph (check_legal) and for a plan above a
/// limit of the graph's budget. Throws Error(usage) for a signature that does not fit the graph.
[[nodiscard]] PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                                   const KernelLookup& kernels, const PlanOptions& options = {});

/// Whether the graph is planned with Placing::automatic.
[[nodiscard]] bool is_placed_by_itself(const Graph& graph, const PlanningOptions& options);

/// The names of all passes, in order. Passes after "lower" run once for each plan class.
[[nodiscard]] std::vector<std::string_view> pass_names();

}  // namespace ferry
#pragma GCC visibility pop
