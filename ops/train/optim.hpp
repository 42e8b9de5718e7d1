// Optimizers: ops that change variables by the gradients of a loss.
//
//     Values updates = adam(loss, {w, b}, 0.001);
//     for (const Value& update : updates) g.target("train", update);
//
// Each function returns the values to run (targets): the assignments of the variables and of the optimizer's own state.
// The state is in variables named after the variable that they belong to ("w/momentum"), on its device, with its
// layout, and initially zero. The learning rate is a number or a floating-point scalar (ops/train/schedule.hpp).
//
// You can change gradients before they are applied: clip or decay them (ops/train/regularize.hpp), scale them, send
// them in 16 bits, or accumulate them over batches (ops/train/mixed.hpp). Give the changed gradients to an optimizer:
//
//     Values updates = momentum(clip_by_norm(gradients_of(loss, {w, b}), 1), 0.1);
//
// To treat variables differently, give them to separate calls, and run the updates of all calls.
//
// Errors: Error(plan), with the caller's line, like gradients() and assign().
#pragma once

#include <span>
#include <vector>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A variable and the gradient of the loss with respect to it, which may be changed (clipped, averaged) before it is
/// applied.
struct Gradient {
  Value variable;  ///< the output of Graph::variable
  Value gradient;  ///< of the variable's dtype and shape
};
using Gradients = std::vector<Gradient>;

/// The gradients of `loss` with respect to these variables. Errors: as gradients().
///
///     Value v = g.variable("v", g.constant({1.0, 2.0}));
///     gradients_of(sum(square(v)), {v})[0].gradient;  // [2 4]
[[nodiscard]] Gradients gradients_of(const Value& loss, std::span<const Value> variables,
                                     source_location at = source_location::current());
[[nodiscard]] inline Gradients gradients_of(const Value& loss, const Values& variables,
                                            source_location at = source_location::current()) {
  return gradients_of(loss, std::span<const Value>(variables), at);
}

/// Stochastic gradient descent: w := w - rate * g.
///
///     Value v = g.variable("v", g.constant({1.0, 2.0}));
///     sgd(sum(square(v)), {v}, 0.1)[0];  // [0.8 1.6]
[[nodiscard]] Values sgd(const Gradients& gradients, const Operand& rate,
                         source_location at = source_location::current());
[[nodiscard]] inline Values sgd(const Value& loss, const Values& variables, const Operand& rate,
                                source_location at = source_location::current()) {
  return sgd(gradients_of(loss, variables, at), rate, at);
}

/// m := momentum * m + g;  w := w - rate * m. Polyak (1964), as Sutskever et al. (2013) write it.
///
///     Values updates = momentum(loss, weights, 0.1);
[[nodiscard]] Values momentum(const Gradients& gradients, const Operand& rate, double momentum = 0.9,
                              source_location at = source_location::current());
[[nodiscard]] inline Values momentum(const Value& loss, const Values& variables, const Operand& rate,
                                     double factor = 0.9, source_location at = source_location::current()) {
  return momentum(gradients_of(loss, variables, at), rate, factor, at);
}

/// m := momentum * m + g;  w := w - rate * (g + momentum * m), with the new m: Nesterov's accelerated gradient (1983)
/// in the form of Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013), where w
/// are the weights at which the gradient is taken.
///
///     Values updates = nesterov(loss, weights, 0.1);
[[nodiscard]] Values nesterov(const Gradients& gradients, const Operand& rate, double momentum = 0.9,
                              source_location at = source_location::current());
[[nodiscard]] inline Values nesterov(const Value& loss, const Values& variables, const Operand& rate,
                                     double factor = 0.9, source_location at = source_location::current()) {
  return nesterov(gradients_of(loss, variables, at), rate, factor, at);
}

/// s := s + g²;  w := w - rate * g / (sqrt(s) + epsilon). Duchi et al., "Adaptive subgradient methods" (2011).
///
///     Values updates = adagrad(loss, weights, 0.1);
[[nodiscard]] Values adagrad(const Gradients& gradients, const Operand& rate, double epsilon = 1e-10,
                             source_location at = source_location::current());
[[nodiscard]] inline Values adagrad(const Value& loss, const Values& variables, const Operand& rate,
                                    double epsilon = 1e-10, source_location at = source_location::current()) {
  return adagrad(gradients_of(loss, variables, at), rate, epsilon, at);
}

struct RmsPropOptions {
  double decay = 0.99;    ///< decay of the mean of squares
  double epsilon = 1e-8;  ///< added to the square root
  double momentum = 0;    ///< 0: no momentum, and no variable for it
  bool centered = false;  ///< divides by the variance: the square of the gradients' mean is subtracted (Graves, 2013)
};

/// v := decay v + (1 - decay) g²;  w := w - rate * g / (sqrt(v) + epsilon). Tieleman and Hinton (2012). With momentum
/// m := momentum m + g / (sqrt(v) + epsilon);  w := w - rate * m. Centered: a := decay a + (1 - decay) g, and sqrt(v -
/// a²) in place of sqrt(v).
///
///     Values updates = rmsprop(loss, weights, 0.1, {.momentum = 0.9});
[[nodiscard]] Values rmsprop(const Gradients& gradients, const Operand& rate, const RmsPropOptions& options = {},
                             source_location at = source_location::current());
[[nodiscard]] inline Values rmsprop(const Value& loss, const Values& variables, const Operand& rate,
                                    const RmsPropOptions& options = {},
                                    source_location at = source_location::current()) {
  return rmsprop(gradients_of(loss, variables, at), rate, options, at);
}

struct AdamOptions {
  double beta1 = 0.9;     ///< decay of the mean m of the gradients
  double beta2 = 0.999;   ///< decay of the mean v of their squares
  double epsilon = 1e-8;  ///< added to the square root
};

/// Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1:
///     t := t + 1;  m := beta1 m + (1 - beta1) g;  v := beta2 v + (1 - beta2) g²
///     w := w - rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// t is one variable for all variables of this call, named after the first ("w/adam_step").
///
///     Values updates = adam(loss, weights, 0.1);
[[nodiscard]] Values adam(const Gradients& gradients, const Operand& rate, const AdamOptions& options = {},
                          source_location at = source_location::current());
[[nodiscard]] inline Values adam(const Value& loss, const Values& variables, const Operand& rate,
                                 const AdamOptions& options = {}, source_location at = source_location::current()) {
  return adam(gradients_of(loss, variables, at), rate, options, at);
}

/// Adam that also reduces each weight by rate * decay times the weight, without changing the moments: Loshchilov and
/// Hutter, "Decoupled weight decay regularization" (2019). It has the same state variables as adam().
///
///     Values updates = adamw(loss, weights, 0.1, 0.05);
[[nodiscard]] Values adamw(const Gradients& gradients, const Operand& rate, double decay = 0.01,
                           const AdamOptions& options = {}, source_location at = source_location::current());
[[nodiscard]] inline Values adamw(const Value& loss, const Values& variables, const Operand& rate, double decay = 0.01,
                                  const AdamOptions& options = {}, source_location at = source_location::current()) {
  return adamw(gradients_of(loss, variables, at), rate, decay, options, at);
}

/// An optimizer for large batches: adam's direction r, with its own m and v ("w/lamb_m"), scaled to the norm of the
/// weights:
///     u := r + decay w;  w := w - rate * |w| / |u| * u
/// |.| is the Euclidean norm of a whole variable; if a norm is 0, the quotient is 1. You et al., "Large batch
/// optimization for deep learning" (2020), algorithm 2 with phi(z) = z. Biases and scales usually go to adam().
///
///     Values updates = lamb(loss, weights, 0.1);
[[nodiscard]] Values lamb(const Gradients& gradients, const Operand& rate, double decay = 0.01,
                          const AdamOptions& options = {.epsilon = 1e-6},
                          source_location at = source_location::current());
[[nodiscard]] inline Values lamb(const Value& loss, const Values& variables, const Operand& rate, double decay = 0.01,
                                 const AdamOptions& options = {.epsilon = 1e-6},
                                 source_location at = source_location::current()) {
  return lamb(gradients_of(loss, variables, at), rate, decay, options, at);
}

struct LarsOptions {
  double trust = 0.001;   ///< eta of the paper
  double momentum = 0.9;  ///< decay of m
  double decay = 0;       ///< beta of the paper
};

/// An optimizer for large batches, which has its own rate for each variable.
///     q := trust |w| / (|g| + decay |w|), 1 where a norm is 0
///     m := momentum m + rate q (g + decay w);  w := w - m
/// You et al., "Large batch training of convolutional networks" (2017), algorithm 1. Biases and scales usually go to
/// momentum().
///
///     Values updates = lars(loss, weights, 0.1);
[[nodiscard]] Values lars(const Gradients& gradients, const Operand& rate, const LarsOptions& options = {},
                          source_location at = source_location::current());
[[nodiscard]] inline Values lars(const Value& loss, const Values& variables, const Operand& rate,
                                 const LarsOptions& options = {}, source_location at = source_location::current()) {
  return lars(gradients_of(loss, variables, at), rate, options, at);
}

/// Returns updates that change variables only in steps in which `condition` (a bool scalar) is true. In other steps,
/// every variable keeps its value, including the optimizer's state and its count of steps. Run the result instead of
/// `updates`.
///
///     Value v = g.variable("v", g.constant({1.0}));
///     StepCount count = count_steps(g);
///     only_when(count.steps > 5, {assign(v, v + 1)})[0];  // [1]
[[nodiscard]] Values only_when(const Value& condition, const Values& updates,
                               source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
