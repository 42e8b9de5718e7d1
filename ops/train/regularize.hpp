// Changes to gradients before an optimizer applies them.
//
//     Values updates = sgd(clip_by_norm(weight_decay(gradients_of(loss, {w, b}), 5e-4), 1), 0.1);
//
// Gradients that are partial sums over tasks are added up first. Errors: Error(plan), with the caller's line, if there
// are no gradients, or if shapes or dtypes do not fit.
#pragma once

#include "base/source_location.hpp"
#include "ops/train/optim.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Returns the gradient g + factor * w for each variable w: adds the gradient of factor / 2 * |w|² (L2 regularization).
/// adamw(), lamb() and lars() have their own decay.
///
///     Value v = g.variable("v", g.constant({1.0, 2.0}));
///     weight_decay(gradients_of(sum(square(v)), {v}), 0.5)[0].gradient;  // [2.5 5]
[[nodiscard]] Gradients weight_decay(const Gradients& gradients, double factor,
                                     source_location at = source_location::current());

/// The Euclidean norm of all gradients together, a scalar with the dtype of the first gradient.
///
///     Value v = g.variable("v", g.constant({1.5, 2.0}));
///     global_norm(gradients_of(sum(square(v)), {v}));  // 5
[[nodiscard]] Value global_norm(const Gradients& gradients, source_location at = source_location::current());

/// Returns the gradients times most / max(most, their global_norm()). They do not change if that norm is at most `most`
/// (Pascanu et al., "On the difficulty of training recurrent neural networks", 2013). If the norm is not finite, all
/// gradients become NaN or 0. `most` must be above 0.
///
///     Value v = g.variable("v", g.constant({1.5, 2.0}));
///     clip_by_norm(gradients_of(sum(square(v)), {v}), 1)[0].gradient;  // [0.6 0.8]
[[nodiscard]] Gradients clip_by_norm(const Gradients& gradients, double most,
                                     source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
