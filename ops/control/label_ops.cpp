#include "ops/control/label_ops.hpp"

#include <algorithm>
#include <map>

namespace ferry {
namespace {

using Of = MicrobatchWork::Of;

/// The label of an op that reads values with the labels a and b.
MicrobatchWork combined_label(const MicrobatchWork& a, const MicrobatchWork& b) {
  if (a.of == Of::none) return b;
  if (b.of == Of::none) return a;
  if (!a.is_one() || !b.is_one() || a.pipeline != b.pipeline || a.index != b.index) return {.of = Of::several};
  return a.backward ? a : b;
}

/// Moves work that only the backward pass reads to the backward pass: some parts of gradients depend on the forward
/// pass alone.
void move_to_backward(const Graph& graph, std::vector<MicrobatchWork>& work) {
  std::vector<bool> read_forward(graph.size()), read(graph.size());
  for (OpId id = graph.size(); id > 0; --id) {
    const Op op = graph.op(id - 1);
    MicrobatchWork& of = work[id - 1];
    if (of.is_one() && read[id - 1] && !read_forward[id - 1]) of.backward = true;
    const bool forward = op.def().is(kLeavesMicrobatch) || (of.is_one() && !of.backward);
    for (const ValueId input : op.inputs()) {
      read[graph.producer(input)] = true;
      if (forward) read_forward[graph.producer(input)] = true;
    }
  }
}

}  // namespace

LabelledOps label_ops(const Graph& graph) {
  LabelledOps labelled;
  labelled.work.resize(graph.size());
  std::map<std::int64_t, std::uint32_t> pipelines;  // pipeline number in the graph -> index in `labelled.pipelines`
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    MicrobatchWork& work = labelled.work[id];
    if (op.def().is(kEntersMicrobatch)) {
      const Microbatch entered = microbatch_of(op.attrs());
      const auto [pipeline, is_new] =
          pipelines.try_emplace(entered.pipeline, static_cast<std::uint32_t>(labelled.pipelines.size()));
      if (is_new) labelled.pipelines.push_back({entered.of, entered.schedule, op.line()});
      work = {Of::one, entered.backward, pipeline->second, entered.index};
    } else {
      for (const ValueId input : op.inputs()) {
        const OpId maker = graph.producer(input);
        if (!graph.op(maker).def().is(kLeavesMicrobatch)) work = combined_label(work, labelled.work[maker]);
      }
      work.backward = work.backward || (work.is_one() && op.recomputed());
    }
  }
  move_to_backward(graph, labelled.work);
  return labelled;
}

}  // namespace ferry
