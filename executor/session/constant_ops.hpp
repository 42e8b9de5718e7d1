// Ops on constants, computed when planning: PlanOptions::evaluate.
#pragma once

#include <vector>

#include "graph/op/constant_op.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// The outputs of the op, by the table's kernel, in this thread; none if there is no such kernel or it throws: then the
/// op runs in the step and fails there. Thread-safe.
[[nodiscard]] std::vector<Tensor> evaluate(const KernelTable& kernels, const ConstantOp& op);

}  // namespace ferry
