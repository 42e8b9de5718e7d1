// ConstantOp: an op whose outputs can be computed when planning.
#pragma once

#include <span>

#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// An op that reads nothing but constants.
struct ConstantOp {
  const OpDef& def;
  const Attrs& attrs;
  std::span<const Type> input_types, output_types;  ///< all sizes are known
  std::span<const Tensor> inputs;                   ///< not defined where the op uses only the sizes (OpDef::unread)
};

}  // namespace ferry
#pragma GCC visibility pop
