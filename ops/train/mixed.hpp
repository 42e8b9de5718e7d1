// Training in 16 bits, and in batches larger than the memory.
//
// Weights stay float32 (master weights); the forward pass works on casts of them, and their gradients come back as
// float32:
//
//     const Value h = relu(matmul(cast(x, DType::float16), cast(w, DType::float16)));
//     const Value loss = mean(softmax_cross_entropy(cast(h, DType::float32), labels));
//     const LossScale scale = loss_scale(g);
//     Values updates = unscaled(gradients_of(loss * scale.value, {w}), scale,
//                               [](const Gradients& gradients) { return adam(gradients, 0.001); });
//
// Errors: Error(plan), with the caller's line, when there are no gradients, or when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "ops/train/optim.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Makes the updates from gradients: calls a function of ops/train/optim.hpp, perhaps after clipping or the like.
using Optimizer = std::function<Values(const Gradients&)>;

/// cast(x, dtype), both floating-point. But where x is still a partial sum over tasks (layout partial), each task
/// rounds its own part, and the parts are added up in `dtype`.
Value narrow(const Value& x, DType dtype, source_location at = source_location::current());

/// The gradients, added up over tasks in `dtype` (float16, bfloat16) and cast back to their own dtype: messages are
/// half as large as with float32. Each task's part and each sum of two is rounded; a float16 above 65504 becomes
/// infinite, which unscaled() notices.
[[nodiscard]] Gradients on_wire(const Gradients& gradients, DType dtype,
                                source_location at = source_location::current());

/// How a loss is scaled. The default numbers are PyTorch's.
struct LossScaling {
  double first = 65536;       ///< the scale at first; best a power of 2, so that nothing is rounded
  std::int64_t every = 2000;  ///< successive good steps after which the scale is doubled; 0: it never changes
};

/// A number that the loss is multiplied by, so that gradients in float16 do not vanish below its smallest number
/// (Micikevicius et al., "Mixed precision training", 2018). It is kept in the variables "NAME" and "NAME/good_steps".
struct LossScale {
  Value value;       ///< float32 scalar: the scale of this step
  Value good_steps;  ///< int64 scalar: steps without infinity or NaN since the scale was last changed
  LossScaling options;
};
[[nodiscard]] LossScale loss_scale(Graph& graph, const LossScaling& options = {}, std::string_view name = "loss_scale",
                                   source_location at = source_location::current());

/// The updates of an optimizer that gets `gradients` divided by the scale; `gradients` are the gradients of loss *
/// scale. A step in which one of them is infinite or NaN leaves every variable unchanged, and the scale is halved, but
/// not below 1 (unless LossScaling::every is 0).
Values unscaled(const Gradients& gradients, const LossScale& scale, const Optimizer& optimizer,
                source_location at = source_location::current());

/// The updates of an optimizer in every `count`-th step, by the mean of the gradients of `count` steps; in the others
/// the variables stay as they are. If the loss is a mean and the steps may have different numbers of rows, a step is
/// weighted by its rows. If the loss is a weighted mean, such as nll_loss() with ignored labels, a step is weighted by
/// its weights. So the mean is the gradient of all rows. State: the sums ("w/accumulated"), and a count of steps and
/// the sum of their weights, named after the first variable. A batch can then be larger than memory. It saves no
/// messages: the sums are variables with the same value on all tasks, so gradients are summed over the tasks in every
/// step (docs/internals/decisions/accumulated.md).
///
/// Error(plan) also if the loss is a sum of means that are divided by different numbers.
///
///     Values updates = accumulated(gradients_of(loss, weights), 4,
///                                  [](const Gradients& gradients) { return momentum(gradients, 0.1); });
Values accumulated(const Gradients& gradients, std::int64_t count, const Optimizer& optimizer,
                   source_location at = source_location::current());

/// Narrow {dtype}.
[[nodiscard]] std::span<const OpDef* const> mixed_ops();

}  // namespace ferry
#pragma GCC visibility pop
