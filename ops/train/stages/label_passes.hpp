// label_passes: labels the forward pass and the backward pass of a graph without microbatches. For placement by itself;
// not for users.
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "ops/control/label_ops.hpp"

namespace ferry {

/// Labels the needed ops as one pipeline with one microbatch. An op is work of the forward pass if it depends on data
/// and the first reader of a variable depends on it, or is it. First readers in updates, such as the readers of an
/// optimizer's variables, do not count. Updates are the ops that compute new values of variables element by element.
/// Other ops that depend on the forward pass are work of the backward pass, except updates. If no needed op updates a
/// variable, all ops that depend on data are work of the forward pass.
///
/// Other labels would be legal, too: they only decide which plans are tried.
[[nodiscard]] LabelledOps label_passes(const Graph& graph, const std::vector<bool>& needed);

}  // namespace ferry
