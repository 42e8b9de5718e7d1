// ConstantOp: an op whose outputs can be computed when planning.
#pragma once

#include <span>

#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// An op with inputs that are all constants.
struct ConstantOp {
  const OpDef& def;
  const Attrs& attrs;
  std::span<const Type> input_types, output_types;  ///< all sizes are known
  std::span<const Tensor> inputs;  ///< undefined if the op uses only the sizes of the input (OpDef::unread)
};

}  // namespace ferry
#pragma GCC visibility pop
