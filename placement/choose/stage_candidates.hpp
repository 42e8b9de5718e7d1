// stage_candidates: cuts a graph into stages, for placement by itself.
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "placement/program/program.hpp"
#include "plan/signature.hpp"
#include "plan/topology/topology.hpp"

namespace ferry {

/// Stages on all tasks, on half of them, and so on down to two, at most kMostStages. For each number of stages, cuts
/// that differ in the memory of the largest stage. If the graph has pipelines (ops/train/pipeline.hpp), their
/// microbatches are cut. Otherwise the forward pass of the request is cut, and the stages run one after another. The
/// candidates do not depend on the memory of the tasks. Empty if the graph cannot be cut.
[[nodiscard]] std::vector<AutoStages> stage_candidates(const Graph& graph, const Signature& signature,
                                                       const Topology& topology);

}  // namespace ferry
