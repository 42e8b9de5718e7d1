// The ops that Graph itself adds: leaves, state, and the parameters of subgraphs. All others are in ops/.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A constant tensor: attribute `value`.
extern const OpDef kConstant;
/// A value that the caller of run() gives: attributes `dtype`, `shape`.
extern const OpDef kInput;
/// State: attributes `dtype`, `shape`. Its output is the value from before the step.
extern const OpDef kVariable;
/// Assign(variable, value): at the end of the step the variable has `value`. Its output is `value`.
extern const OpDef kAssign;
/// In a subgraph: a value that the owning op carries, or that the subgraph captures from the graph around it.
/// Attributes `dtype`, `shape`.
extern const OpDef kParameter;

/// The five of them.
[[nodiscard]] std::span<const OpDef* const> core_ops();

}  // namespace ferry
#pragma GCC visibility pop
