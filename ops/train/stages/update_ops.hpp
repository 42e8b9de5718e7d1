// update_ops: finds the ops that compute the new value of a variable.
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "ops/control/label_ops.hpp"

namespace ferry {

/// Calls visit(op) for the ops with results of a variable's shape from which `assign` computes the variable's new
/// value, from the last to the first. They are the variable's gradient in each microbatch, the sum of these gradients,
/// and the optimizer's variables. visit returns whether the ops before this one are visited, too; the walk always ends
/// at an op of a microbatch. An op that several others read is visited for each of them.
template <class Visit>
void each_update_op(const Graph& graph, const LabelledOps& labelled, OpId assign, const Visit& visit) {
  const Shape& shape = graph.type(graph.op(assign).inputs()[0]).shape;
  std::vector<OpId> open{assign};
  while (!open.empty()) {
    const OpId id = open.back();
    open.pop_back();
    if (labelled.work[id].is_one()) continue;
    for (const ValueId input : graph.op(id).inputs()) {
      const OpId maker = graph.producer(input);
      const bool is_part = graph.op(maker).def().role != OpRole::constant && graph.type(input).shape == shape;
      if (is_part && visit(maker)) open.push_back(maker);
    }
  }
}

}  // namespace ferry
