// Step weights: the weight of a step's gradients in a mean over steps or tasks. For mixed.hpp and local_steps.hpp; not
// for users.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// The divisor of a loss: the number of rows for a mean, the sum of the weights for a weighted mean.
struct StepWeight {
  Value value;             ///< float32 scalar if the divisor may differ from step to step; else undefined
  std::int64_t fixed = 1;  ///< the number of rows if it is the same in each step; 1 for a loss that is not divided
};

/// The weight of a step. `values` are the gradients of its loss, or values computed from them. They divide scalars by
/// this weight: by the number of rows of the batch, or by a scalar that depends on the batch and on no variable.
///
/// Throws Error(plan) with `line` if there are several such divisors: the loss is a sum of means with different
/// divisors. The message begins with `what`.
[[nodiscard]] StepWeight step_weight(const Values& values, const std::string& what, const SourceLine& line);

}  // namespace ferry
