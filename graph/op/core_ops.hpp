// The ops that Graph itself adds: leaves, state, and the parameters of subgraphs. All others are in ops/.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A constant tensor: attribute `value`.
extern const OpDef kConstant;
/// A value that the caller of run() feeds: attributes `dtype`, `shape`.
extern const OpDef kInput;
/// A variable: attributes `dtype`, `shape`. Its output is the value before the step.
extern const OpDef kVariable;
/// Assign(variable, value): sets the variable to `value` at the end of the step. Its output is `value`.
extern const OpDef kAssign;
/// A parameter of a subgraph: a value that the owning op carries, or that the subgraph captures from the enclosing
/// graph. Attributes `dtype`, `shape`.
extern const OpDef kParameter;

/// The five ops above.
[[nodiscard]] std::span<const OpDef* const> core_ops();

}  // namespace ferry
#pragma GCC visibility pop
