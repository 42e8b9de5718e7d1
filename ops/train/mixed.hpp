// Training with 16-bit floats, and with batches larger than memory.
//
// Weights stay float32 (master weights). The forward pass uses 16-bit casts of them, and their gradients are cast back
// to float32:
//
//     const Value h = relu(matmul(cast(x, DType::float16), cast(w, DType::float16)));
//     const Value loss = mean(square(cast(h, DType::float32) - y));
//     const LossScale scale = loss_scale(g);
//     Values updates = unscaled(gradients_of(loss * scale.value, {w}), scale,
//                               [](const Gradients& gradients) { return adam(gradients, 0.001); });
//
// Errors: Error(plan), with the caller's line, if there are no gradients, or if shapes or dtypes do not fit.
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

/// A function that makes the updates from gradients. It calls an optimizer of ops/train/optim.hpp, and may change the
/// gradients first, for example clip them.
using Optimizer = std::function<Values(const Gradients&)>;

/// Returns cast(x, dtype); both dtypes are floating-point. If x is a partial sum over tasks (layout partial), each task
/// rounds its own part, and the parts are added up in `dtype`.
///
///     narrow(x, DType::float16);  // float16[2,3]
Value narrow(const Value& x, DType dtype, source_location at = source_location::current());

/// The gradients, added up over tasks in `dtype` (float16, bfloat16) and cast back to their own dtype: messages are
/// half as large as with float32. Each task's part and each sum of two is rounded; a float16 above 65504 becomes
/// infinite, which unscaled() notices.
///
///     Values updates = sgd(on_wire(gradients_of(loss, weights), DType::bfloat16), 0.1);
[[nodiscard]] Gradients on_wire(const Gradients& gradients, DType dtype,
                                source_location at = source_location::current());

/// How a loss is scaled. The default numbers are PyTorch's.
struct LossScaling {
  double first = 65536;       ///< the scale at first; best a power of 2, so that nothing is rounded
  std::int64_t every = 2000;  ///< successive good steps after which the scale is doubled; 0: it never changes
};

/// A number that the loss is multiplied by, so that small gradients do not become 0 in float16 (Micikevicius et al.,
/// "Mixed precision training", 2018). It is kept in the variables "NAME" and "NAME/good_steps".
struct LossScale {
  Value value;          ///< float32 scalar: the scale of this step
  Value good_steps;     ///< int64 scalar: steps without infinity or NaN since the scale was last changed
  LossScaling options;  ///< of loss_scale()
};

/// Makes the variables of a loss scale, named `name` and `name`/good_steps.
///
///     LossScale scale = loss_scale(g);
///     scale.value;  // 65536
[[nodiscard]] LossScale loss_scale(Graph& graph, const LossScaling& options = {}, std::string_view name = "loss_scale",
                                   source_location at = source_location::current());

/// Returns the updates of `optimizer` for `gradients`, the gradients of loss * scale, divided by the scale. If one of
/// them is infinite or NaN in a step, no variable changes except the scale, which is halved, but not below 1 (unless
/// LossScaling::every is 0).
///
///     LossScale scale = loss_scale(g);
///     Values updates = unscaled(gradients_of(loss * scale.value, weights), scale,
///                               [](const Gradients& gradients) { return sgd(gradients, 0.1); });
[[nodiscard]] Values unscaled(const Gradients& gradients, const LossScale& scale, const Optimizer& optimizer,
                              source_location at = source_location::current());

/// Returns updates that apply `optimizer` in every `count`-th step, to the mean of the gradients of `count` steps.
/// Other steps do not change the variables. If the loss is a mean and the steps may have different numbers of rows, a
/// step is weighted by its rows. If the loss is a weighted mean, such as nll_loss() with ignored labels, a step is
/// weighted by its weights. So the mean is the gradient of the loss over all rows. State: the sums ("w/accumulated"),
/// and a count of steps and the sum of their weights, named after the first variable. With accumulation, a batch can be
/// larger than memory. Accumulation does not save messages: the sums are variables with the same value on all tasks, so
/// gradients are summed over the tasks in every step (docs/internals/decisions/accumulated.md).
///
/// Throws Error(plan) also if the loss is a sum of means with different divisors.
///
///     Values updates = accumulated(gradients_of(loss, weights), 4,
///                                  [](const Gradients& gradients) { return momentum(gradients, 0.1); });
[[nodiscard]] Values accumulated(const Gradients& gradients, std::int64_t count, const Optimizer& optimizer,
                                 source_location at = source_location::current());

/// The op Narrow {dtype}.
[[nodiscard]] std::span<const OpDef* const> mixed_ops();

}  // namespace ferry
#pragma GCC visibility pop
