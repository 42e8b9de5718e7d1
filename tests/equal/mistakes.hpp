// Mistakes that a pass might make, planted between two passes of planning, and checks that the proof refuses the plans.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "placement/program/program.hpp"
#include "plan/equal/equal.hpp"
#include "plan/signature.hpp"

namespace ferry::test {

using Mistake = std::function<void(Program&)>;

/// The plan that the passes make if `mistake` changes the program after the pass of that name.
[[nodiscard]] Plan plan_with(const Graph& g, const Signature& signature, const Topology& topology,
                             std::string_view after, const Mistake& mistake);

/// The nodes of the step that `wanted` accepts, in order; a failure of the test if there are none.
[[nodiscard]] std::vector<NodeId> nodes_of(const Program& program, const std::function<bool(const Node&)>& wanted);
[[nodiscard]] std::vector<NodeId> collectives(const Program& program, CollectiveKind kind);
[[nodiscard]] std::vector<NodeId> ops(const Program& program, std::string_view name);
/// The sum over tasks of a value of these sizes.
[[nodiscard]] NodeId sum_of(const Program& program, const std::vector<std::int64_t>& sizes);

/// Makes all nodes and results use `other` in place of the node's only output, and removes the node.
void leave_out(Program& program, NodeId id, PValueId other);
/// Removes a sum over tasks: each task takes its part for the sum.
void leave_out_sum(Program& program, NodeId sum);
/// Gives a value the layout that the mistaken pass believes it to have.
void lay_as(Program& program, PValueId value, const Layout& layout);
/// Runs the node `next`, which uses a sum over tasks, before the sum.
void sum_later(Program& program, NodeId sum, NodeId next);
/// Sums up a value over the tasks as `sum` does, for all nodes that use the value.
void sum_again(Program& program, NodeId sum, PValueId value);
/// Exchanges the dims 0 and 1 in the attribute `dim` of all ops of that name.
void exchange_dims(Program& program, std::string_view op);

/// A graph, a request and a number of tasks.
struct Case {
  Graph g;
  Signature signature;
  int tasks = 2;

  /// Checks that the proof refuses the plan with the mistake, and accepts the plan without it. `verified`: whether the
  /// verifier, which does not know the graph, accepts the plan with the mistake. Returns the reason of the proof.
  std::string check_refused(bool verified, std::string_view after, const Mistake& mistake,
                            Equality::Verdict verdict = Equality::Verdict::differs) const;
};

}  // namespace ferry::test
