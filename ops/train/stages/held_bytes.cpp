#include "ops/train/stages/held_bytes.hpp"

#include <algorithm>

#include "graph/op/op_work.hpp"
#include "ops/train/stages/update_ops.hpp"

namespace ferry {
namespace {

std::int64_t bytes_of_outputs(const Graph& graph, OpId id) {
  const Op op = graph.op(id);
  if (op.def().is(kView)) return 0;
  std::int64_t bytes = 0;
  for (int i = 0; i < op.outputs(); ++i) bytes += known_bytes(graph.type(op.output(i)));
  return bytes;
}

/// For each updated variable: the bytes of its gradient and of the other variables that its update reads.
std::vector<std::int64_t> bytes_of_updates(const Graph& graph, const LabelledOps& labelled) {
  std::vector<std::int64_t> bytes(graph.size());
  std::vector<OpId> seen_by(graph.size(), graph.size());  // the last assign that visited the op
  for (OpId assign = 0; assign < graph.size(); ++assign) {
    if (graph.op(assign).def().role != OpRole::assign) continue;
    const OpId variable = graph.producer(graph.op(assign).inputs()[0]);
    bool has_gradient = false;
    each_update_op(graph, labelled, assign, [&](OpId id) {
      if (seen_by[id] == assign) return false;
      seen_by[id] = assign;
      has_gradient = has_gradient || labelled.work[id].is_one();
      if (graph.op(id).def().role == OpRole::variable && id != variable) bytes[variable] += bytes_of_outputs(graph, id);
      return true;
    });
    if (has_gradient) bytes[variable] += bytes_of_outputs(graph, variable);
  }
  return bytes;
}

}  // namespace

std::vector<std::int64_t> held_bytes(const Graph& graph, const LabelledOps& labelled, std::span<const OpId> ops) {
  const bool has_backward =
      std::ranges::any_of(labelled.work, [](const MicrobatchWork& work) { return work.is_one() && work.backward; });
  const std::vector<std::int64_t> of_updates = bytes_of_updates(graph, labelled);
  std::vector<bool> is_read(graph.size());
  for (const OpId id : ops) is_read[id] = true;
  std::vector<std::int64_t> held;
  for (const OpId id : ops) {
    std::int64_t bytes = has_backward ? bytes_of_outputs(graph, id) : 0;
    std::vector<OpId> open{id};
    while (!open.empty()) {
      const OpId at = open.back();
      open.pop_back();
      for (const ValueId input : graph.op(at).inputs()) {
        const OpId maker = graph.producer(input);
        if (is_read[maker]) continue;
        is_read[maker] = true;
        bytes += bytes_of_outputs(graph, maker) + of_updates[maker];
        open.push_back(maker);
      }
    }
    held.push_back(bytes);
  }
  return held;
}

}  // namespace ferry
