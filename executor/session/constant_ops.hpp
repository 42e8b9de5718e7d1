// Ops on constants, computed when planning: PlanOptions::evaluate.
#pragma once

#include <vector>

#include "graph/op/constant_op.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// Computes the outputs of the op with its kernel in `kernels`, in this thread. Returns none if there is no such kernel
/// or it throws: the op then runs in the step, and fails there. Thread-safe.
[[nodiscard]] std::vector<Tensor> evaluate(const KernelTable& kernels, const ConstantOp& op);

}  // namespace ferry
