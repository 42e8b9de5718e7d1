// Types of an op's outputs, from its definition and the types of its inputs.
#pragma once

#include <vector>

#include "graph/op_def.hpp"

namespace ferry {

/// Checks the attributes and dtypes of `facts` against `def` and gives the type of each output.
/// Error(plan) says what does not fit; the caller adds the op's name, inputs and line.
[[nodiscard]] std::vector<Type> infer_types(const OpDef& def, const OpFacts& facts);

}  // namespace ferry
