#include "ops/train/optim.hpp"

#include <string>

#include "base/error.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/build.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/beside.hpp"

namespace ferry {
namespace {

/// Calls update(variable, gradient, updates) for each gradient. The ops are placed on the variable's device or mesh.
/// Returns all updates.
template <class Update>
Values update_each(const Gradients& gradients, const SourceLine& line, Update&& update) {
  if (gradients.empty())
    throw Error(Code::plan, "an optimizer without variables")
        .at(line)
        .hint("give it the variables that it is to change");
  Values updates;
  for (const Gradient& g : gradients) {
    Graph& graph = graph_of({{g.variable, g.gradient}}, line);
    const Scope here = caller_scope(graph, line);
    require_float("optimizer", g.gradient, line);
    const Scope place = graph.annotated(place_of(g.variable));
    update(g.variable, place_gradient(g.variable, g.gradient), updates);
  }
  return updates;
}

/// The rate as a scalar of the variable's dtype.
Value rate_for(const Operand& rate, const Value& variable) {
  return rate.is_number() ? number_constant(variable.graph(), rate.literal(), variable.dtype(), rate.line())
                          : cast(rate.value(), variable.dtype());
}

/// The number of this step, counted from 1 in a variable. Adds the update of that variable to `updates`.
Value count_steps(const Value& beside, std::string_view name, const SourceLine& line, Values& updates) {
  Graph& graph = beside.graph();
  const Scope here = caller_scope(graph, line);
  const Scope place = graph.annotated(place_of(beside));
  const Value count = graph.variable(std::string(beside.op().name()) + "/" + std::string(name) + "_step",
                                     number_constant(graph, 0, DType::int64, line));
  const Value next = count + 1;
  updates.push_back(assign(count, next));
  return next;
}

/// Returns 1 / (1 - beta^t), computed in float64 because the difference is small in the first steps.
Value bias_correction(double beta, const Value& step, DType dtype) {
  const Value power = pow(beta, cast(step, DType::float64));
  return cast(1 / (1 - power), dtype);
}

/// Returns decay * mean + (1 - decay) * x.
Value decaying_mean(const Value& mean, double decay, const Value& x) {
  const Value old = mean * decay;
  return old + x * (1 - decay);
}

/// Adam's direction. Its state is in variables named after `name`; their updates are added to `updates`.
Value adam_direction(const Value& w, const Value& g, const Value& step, const AdamOptions& options,
                     const std::string& name, Values& updates) {
  const Value m = zeros_beside(w, name + "_m");
  const Value v = zeros_beside(w, name + "_v");
  const Value next_m = decaying_mean(m, options.beta1, g);
  const Value old_v = v * options.beta2;
  const Value next_v = old_v + square(g) * (1 - options.beta2);
  const Value mean = next_m * bias_correction(options.beta1, step, w.dtype());
  const Value spread = sqrt(next_v * bias_correction(options.beta2, step, w.dtype())) + options.epsilon;
  updates.push_back(assign(m, next_m));
  updates.push_back(assign(v, next_v));
  return mean / spread;
}

Value norm_of(const Value& x) {
  return sqrt(sum(square(x)));
}

/// Returns `quotient` if both norms, a and b, are above 0, else 1.
Value trust_ratio(const Value& quotient, const Value& a, const Value& b) {
  const Value some = greater(a, 0);
  const Value both = logical_and(some, greater(b, 0));
  return select(both, quotient, 1);
}

/// Returns g + factor * w.
Value add_decay(const Value& g, const Value& w, double factor) {
  return factor == 0 ? g : g + w * factor;
}

/// Updates each variable to next(variable, Adam's direction + decay * variable); state is named after `name`.
template <class Next>
Values update_by_adam(const Gradients& gradients, const std::string& name, double decay, const AdamOptions& options,
                      const SourceLine& line, Next&& next) {
  Value step;
  return update_each(gradients, line, [&](const Value& w, const Value& g, Values& updates) {
    if (!step.defined()) step = count_steps(w, name, line, updates);
    const Value direction = add_decay(adam_direction(w, g, step, options, name, updates), w, decay);
    updates.push_back(assign(w, next(w, direction)));
  });
}

}  // namespace

Gradients gradients_of(const Value& loss, std::span<const Value> variables, source_location at) {
  const Values values = gradients(loss, variables, at);
  Gradients result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back({variables[i], values[i]});
  return result;
}

Values sgd(const Gradients& gradients, const Operand& rate, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    updates.push_back(assign(w, w - g * rate_for(rate, w)));
  });
}

Values momentum(const Gradients& gradients, const Operand& rate, double factor, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value velocity = zeros_beside(w, "momentum");
    const Value next = velocity * factor + g;
    updates.push_back(assign(velocity, next));
    updates.push_back(assign(w, w - next * rate_for(rate, w)));
  });
}

Values nesterov(const Gradients& gradients, const Operand& rate, double factor, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value velocity = zeros_beside(w, "momentum");
    const Value next = velocity * factor + g;
    const Value ahead = g + next * factor;
    updates.push_back(assign(velocity, next));
    updates.push_back(assign(w, w - ahead * rate_for(rate, w)));
  });
}

Values adagrad(const Gradients& gradients, const Operand& rate, double epsilon, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value squares = zeros_beside(w, "adagrad");
    const Value next = squares + square(g);
    const Value spread = sqrt(next) + epsilon;
    const Value direction = g / spread;
    updates.push_back(assign(squares, next));
    updates.push_back(assign(w, w - direction * rate_for(rate, w)));
  });
}

Values rmsprop(const Gradients& gradients, const Operand& rate, const RmsPropOptions& options, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value squares = zeros_beside(w, "rmsprop");
    const Value next = decaying_mean(squares, options.decay, square(g));
    updates.push_back(assign(squares, next));
    Value variance = next;
    if (options.centered) {
      const Value mean = zeros_beside(w, "rmsprop_mean");
      const Value next_mean = decaying_mean(mean, options.decay, g);
      updates.push_back(assign(mean, next_mean));
      variance = next - square(next_mean);
    }
    const Value spread = sqrt(variance) + options.epsilon;
    Value direction = g / spread;
    if (options.momentum != 0) {
      const Value velocity = zeros_beside(w, "rmsprop_momentum");
      direction = velocity * options.momentum + direction;
      updates.push_back(assign(velocity, direction));
    }
    updates.push_back(assign(w, w - direction * rate_for(rate, w)));
  });
}

Values adam(const Gradients& gradients, const Operand& rate, const AdamOptions& options, source_location at) {
  return adamw(gradients, rate, 0, options, at);
}

Values adamw(const Gradients& gradients, const Operand& rate, double decay, const AdamOptions& options,
             source_location at) {
  return update_by_adam(gradients, "adam", decay, options, at,
                        [&](const Value& w, const Value& direction) { return w - direction * rate_for(rate, w); });
}

Values lamb(const Gradients& gradients, const Operand& rate, double decay, const AdamOptions& options,
            source_location at) {
  return update_by_adam(gradients, "lamb", decay, options, at, [&](const Value& w, const Value& direction) {
    const Value of_w = norm_of(w);
    const Value of_step = norm_of(direction);
    const Value trust = trust_ratio(of_w / of_step, of_w, of_step);
    const Value own_rate = trust * rate_for(rate, w);
    return w - direction * own_rate;
  });
}

Values lars(const Gradients& gradients, const Operand& rate, const LarsOptions& options, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value velocity = zeros_beside(w, "lars");
    const Value of_w = norm_of(w);
    const Value of_g = norm_of(g);
    const Value both = add_decay(of_g, of_w, options.decay);
    const Value scaled = of_w * options.trust;
    const Value trust = trust_ratio(scaled / both, of_w, of_g);
    const Value own_rate = trust * rate_for(rate, w);
    const Value whole = add_decay(g, w, options.decay);
    const Value old = velocity * options.momentum;
    const Value next = old + whole * own_rate;
    updates.push_back(assign(velocity, next));
    updates.push_back(assign(w, w - next));
  });
}

Values only_when(const Value& condition, const Values& updates, source_location at) {
  Values result;
  for (const Value& update : updates) {
    Graph& graph = graph_of({{condition, update}}, at);
    if (&update.op().def() != &kAssign)
      throw Error(Code::plan, "only_when: " + update.op().str() + " is not the update of a variable")
          .at(at)
          .hint("give what an optimizer or assign() returned");
    const Value variable = graph.value(update.op().inputs()[0]);
    const Value given = graph.value(update.op().inputs()[1]);
    const Scope here = caller_scope(graph, at);
    const Scope place = graph.annotated(place_of(variable));
    result.push_back(assign(variable, select(condition, given, variable)));
  }
  return result;
}

}  // namespace ferry
