// held_bytes: estimates the memory of the stages of a pipeline. For placement by itself; not for users.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "ops/control/label_ops.hpp"

namespace ferry {

/// For each of these ops of a forward pass, the bytes that it adds to the memory of its stage: the variables and other
/// values from outside of the forward pass that no earlier op of `ops` reads, with the gradients and the optimizer's
/// variables; and the op's outputs, if there is a backward pass, which reads them.
[[nodiscard]] std::vector<std::int64_t> held_bytes(const Graph& graph, const LabelledOps& labelled,
                                                   std::span<const OpId> ops);

}  // namespace ferry
