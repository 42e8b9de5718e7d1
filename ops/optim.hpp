// Optimizers: graphs that change variables against the gradients of a loss.
//
//     Values updates = adam(loss, {w, b}, 0.001);
//     for (const Value& update : updates) g.target("train", update);
//
// Each function gives the values to run (targets): the assignments of the variables and of the optimizer's own state.
// State is kept in variables named after the one that they belong to ("w/momentum"), on its device and with its layout,
// zero at first. The learning rate is a number or a scalar of the variables' dtype (a schedule).
//
// Errors: Error(plan), with the caller's line, as gradients() and assign() have.
#pragma once

#include <span>
#include <vector>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// A variable and the gradient of the loss in it: to be changed (clipped, averaged) before it is applied.
struct Gradient {
  Value variable;
  Value gradient;
};
using Gradients = std::vector<Gradient>;

/// The gradients of `loss` in these variables.
[[nodiscard]] Gradients gradients_of(const Value& loss, std::span<const Value> variables,
                                     source_location at = source_location::current());
[[nodiscard]] inline Gradients gradients_of(const Value& loss, const Values& variables,
                                            source_location at = source_location::current()) {
  return gradients_of(loss, std::span<const Value>(variables), at);
}

/// w := w - rate * g.
Values sgd(const Gradients& gradients, const Operand& rate, source_location at = source_location::current());
inline Values sgd(const Value& loss, const Values& variables, const Operand& rate,
                  source_location at = source_location::current()) {
  return sgd(gradients_of(loss, variables, at), rate, at);
}

/// m := momentum * m + g;  w := w - rate * m. Polyak (1964), as Sutskever et al. (2013) write it.
Values momentum(const Gradients& gradients, const Operand& rate, double momentum = 0.9,
                source_location at = source_location::current());
inline Values momentum(const Value& loss, const Values& variables, const Operand& rate, double factor = 0.9,
                       source_location at = source_location::current()) {
  return momentum(gradients_of(loss, variables, at), rate, factor, at);
}

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1:
///     t := t + 1;  m := beta1 m + (1 - beta1) g;  v := beta2 v + (1 - beta2) g²
///     w := w - rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// t is one variable for all variables of this call, named after the first ("w/adam_step").
Values adam(const Gradients& gradients, const Operand& rate, const AdamOptions& options = {},
            source_location at = source_location::current());
inline Values adam(const Value& loss, const Values& variables, const Operand& rate, const AdamOptions& options = {},
                   source_location at = source_location::current()) {
  return adam(gradients_of(loss, variables, at), rate, options, at);
}

}  // namespace ferry
