// place_stages: places the ops of a graph in the stages of its pipelines. For balance_stages() and placement by itself;
// not for users.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "ops/control/label_ops.hpp"

namespace ferry {

/// Cuts the ops of a forward pass into stages. Returns the first op of each stage, as index into `ops`.
using StageCut = std::function<std::vector<std::size_t>(std::span<const OpId> ops)>;

constexpr int kNoStage = -1;

/// Whether the op is on a mesh or on all tasks, rather than on one device.
[[nodiscard]] inline bool is_spread(const Op& op) {
  return op.annotation().mesh != kNoMesh || op.annotation().device.all_tasks();
}

/// The stage of each op of the graph; kNoStage: the op may be anywhere, such as a constant. `cut` chooses the stages of
/// the forward passes, for one microbatch of each pipeline. The variables and batches that a stage reads, its backward
/// pass, and the updates of its variables are in this stage. Ops outside of the pipelines that read such variables are
/// in the stage of the variables. The result does not depend on annotations.
///
/// Throws Error(plan) if an op of a forward pass is on a mesh, if the microbatches have different ops, or if a
/// microbatch has fewer ops than stages.
[[nodiscard]] std::vector<int> place_stages(const Graph& graph, const LabelledOps& labelled, int stages,
                                            const StageCut& cut);

}  // namespace ferry
