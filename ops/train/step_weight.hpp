// Step weights: by how much the gradients of a step count beside those of other steps, or of other tasks. Not for
// users: mixed.hpp, local_steps.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// The number that a loss is divided by: of a mean the number of rows, of a weighted mean the sum of the weights.
struct StepWeight {
  Value value;             ///< float32 scalar, if it may differ from step to step; else undefined
  std::int64_t fixed = 1;  ///< if it is the same in each step: the number of rows; 1 for a loss that is not divided
};

/// The weight of a step, from `values`, which are the gradients of its loss or made of them: these divide scalars by
/// the number of rows of the batch, or by a scalar that depends on the batch and on no variable.
///
/// Error(plan) with the line, beginning with `what`, if there are several such numbers: the loss is a sum of means that
/// count differently.
[[nodiscard]] StepWeight step_weight(const Values& values, const std::string& what, const SourceLine& line);

}  // namespace ferry
