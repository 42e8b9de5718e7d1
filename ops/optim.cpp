#include "ops/optim.hpp"

#include <string>

#include "base/error.hpp"
#include "ops/broadcast.hpp"
#include "ops/build.hpp"
#include "ops/gradient.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/reshape.hpp"
#include "ops/state.hpp"

namespace ferry {
namespace {

/// The place of a variable, without its layout: for what is computed beside it.
Annotation place_of(const Value& variable) {
  return {variable.op().annotation().device, variable.op().annotation().mesh, {}};
}

/// A variable of zeros, of the type and place and layout of `like`.
Value slot(const Value& like, std::string_view name) {
  Graph& graph = like.graph();
  Value zeros;
  {
    const Scope place = graph.annotated(place_of(like));
    zeros = broadcast_to(number_constant(graph, 0, like.dtype(), like.op().line()), like.shape().sizes());
  }
  const Scope place = graph.annotated(like.op().annotation());
  return graph.variable(std::string(like.op().name()) + "/" + std::string(name), zeros);
}

/// The gradient where its variable lies, and as it lies: if it is a sum of the tasks' parts, they are added up here,
/// once, however often the update uses it.
Value gathered(const Value& gradient, const Value& variable) {
  Graph& graph = gradient.graph();
  Annotation annotation = variable.op().annotation();
  if (annotation.mesh != kNoMesh && annotation.layouts.empty())
    annotation.layouts.emplace_back(graph.meshes()[annotation.mesh].axes.size());
  const Scope name = graph.name(variable.op().name());
  const Scope place = graph.annotated(std::move(annotation));
  return identity(gradient);
}

/// update(variable, gradient, results) for each, among ops that lie with the variable.
template <class Update>
Values update_each(const Gradients& gradients, const SourceLine& line, Update&& update) {
  if (gradients.empty()) throw Error(Code::plan, "an optimizer without variables").at(line);
  Values updates;
  for (const Gradient& g : gradients) {
    Graph& graph = graph_of({{g.variable, g.gradient}}, line);
    const Scope here = derived(graph, line);
    const Scope place = graph.annotated(place_of(g.variable));
    update(g.variable, gathered(g.gradient, g.variable), updates);
  }
  return updates;
}

Value number_or_value(const Operand& operand, const Value& like) {
  return operand.is_number() ? number_constant(like.graph(), operand.number(), like.dtype(), operand.line())
                             : operand.value();
}

/// The number of the step after this one, counted in a variable; its update is added to `updates`.
Value count_steps(const Value& beside, const SourceLine& line, Values& updates) {
  Graph& graph = beside.graph();
  const Scope here = derived(graph, line);
  const Scope place = graph.annotated(place_of(beside));
  const Value count =
      graph.variable(std::string(beside.op().name()) + "/adam_step", number_constant(graph, 0, DType::int64, line));
  const Value next = count + 1;
  updates.push_back(assign(count, next));
  return next;
}

/// 1 / (1 - beta^t), computed in float64: at the first steps the difference is small.
Value bias_correction(double beta, const Value& step, DType dtype) {
  const Value power = pow(beta, cast(step, DType::float64));
  return cast(1 / (1 - power), dtype);
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
    updates.push_back(assign(w, w - g * number_or_value(rate, w)));
  });
}

Values momentum(const Gradients& gradients, const Operand& rate, double factor, source_location at) {
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    const Value velocity = slot(w, "momentum");
    const Value next = velocity * factor + g;
    updates.push_back(assign(velocity, next));
    updates.push_back(assign(w, w - next * number_or_value(rate, w)));
  });
}

Values adam(const Gradients& gradients, const Operand& rate, const AdamOptions& options, source_location at) {
  Value step;
  return update_each(gradients, at, [&](const Value& w, const Value& g, Values& updates) {
    if (!step.defined()) step = count_steps(w, at, updates);
    const Value m = slot(w, "adam_m");
    const Value v = slot(w, "adam_v");
    const Value old_m = m * options.beta1;
    const Value next_m = old_m + g * (1 - options.beta1);
    const Value old_v = v * options.beta2;
    const Value next_v = old_v + square(g) * (1 - options.beta2);
    const Value mean = next_m * bias_correction(options.beta1, step, w.dtype());
    const Value spread = sqrt(next_v * bias_correction(options.beta2, step, w.dtype())) + options.epsilon;
    updates.push_back(assign(m, next_m));
    updates.push_back(assign(v, next_v));
    const Value direction = mean / spread;
    updates.push_back(assign(w, w - direction * number_or_value(rate, w)));
  });
}

}  // namespace ferry
