#include "ops/train/mixed.hpp"

#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ops/build.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/beside.hpp"
#include "ops/train/step_weight.hpp"

namespace ferry {
namespace {

std::string narrow_index(const OpFacts& facts) {
  const DType dtype = facts.attr<DType>("dtype");
  if (!is_float(dtype)) OpFacts::fail("to " + std::string(name_of(dtype)) + "; it gives " + kFloats.str());
  return "...->...";
}

constexpr AttrDef kNarrowAttrs[] = {{"dtype", "dtype"}};
constexpr OpDef kNarrow{.name = "Narrow",
                        .types = "T->@dtype",
                        .T = kFloats,
                        .attrs = kNarrowAttrs,
                        .index_of = narrow_index,
                        .linear = 0b1,
                        .flags = kMoves,
                        .grad = [](GradCtx& g) { return Values{narrow(g.dout(), g.like().dtype())}; }};

constexpr const OpDef* kMixedOps[] = {&kNarrow};

void require_some(std::string_view what, const Gradients& gradients, const SourceLine& line) {
  if (gradients.empty())
    throw Error(Code::plan, std::string(what) + ": no gradients")
        .at(line)
        .hint("give one for each variable, as gradients() does");
}

/// Returns make(). Its ops are placed on the variable's device or mesh.
template <class Make>
auto make_beside(const Value& variable, const SourceLine& line, Make&& make) {
  const Scope here = caller_scope(variable.graph(), line);
  const Scope place = variable.graph().annotated(place_of(variable));
  return make();
}

/// The new mean after `value` is added to `mean` with the weight `share`. If the share is 0, the value may be NaN.
Value moved_towards(const Value& mean, const Value& value, const Value& share) {
  const Value counts = greater(share, 0);
  const Value apart = value - mean;
  const Value counted = select(counts, apart, 0);
  return mean + counted * cast(share, mean.dtype());
}

/// Whether all elements are finite: bool scalar.
Value is_finite(const Value& x) {
  return less(max(abs(x)), std::numeric_limits<double>::infinity());
}

}  // namespace

Value narrow(const Value& x, DType dtype, source_location at) {
  if (x.defined() && x.dtype() == dtype) return x;
  return make_one(kNarrow, {x}, at, {{"dtype", dtype}});
}

Gradients on_wire(const Gradients& gradients, DType dtype, source_location at) {
  require_some("on_wire", gradients, at);
  Gradients result;
  for (const Gradient& g : gradients)
    result.push_back({g.variable, make_beside(g.variable, at, [&] {
                        const Value sent = place_gradient(g.variable, narrow(g.gradient, dtype));
                        return cast(sent, g.gradient.dtype());
                      })});
  return result;
}

LossScale loss_scale(Graph& graph, const LossScaling& options, std::string_view name, source_location at) {
  if (!(options.first > 0) || options.every < 0)
    throw Error(Code::plan, "loss_scale: " + digits_text(options.first, 6) + ", doubled after " +
                                std::to_string(options.every) + " steps")
        .at(at)
        .hint("begin with a scale above 0, and double it after 0 steps (never) or more");
  const Scope here = caller_scope(graph, at);
  const Value first = number_constant(graph, options.first, DType::float32, at);
  const Value none = number_constant(graph, 0, DType::int64, at);
  const Value value = graph.variable(name, first, at);
  return {value, graph.variable(std::string(name) + "/good_steps", none, at), options};
}

Values unscaled(const Gradients& gradients, const LossScale& scale, const Optimizer& optimizer, source_location at) {
  require_some("unscaled", gradients, at);
  Gradients divided;
  Value good;
  for (const Gradient& g : gradients) {
    const Value whole = make_beside(
        g.variable, at, [&] { return place_gradient(g.variable, g.gradient) / cast(scale.value, g.gradient.dtype()); });
    divided.push_back({g.variable, whole});
    good = make_beside(g.variable, at, [&] {
      const Value finite = is_finite(whole);
      return good.defined() ? logical_and(good, finite) : finite;
    });
  }
  Values updates = only_when(good, optimizer(divided), at);
  if (scale.options.every == 0) return updates;
  make_beside(scale.value, at, [&] {
    const Value steps = scale.good_steps + 1;
    const Value grows = greater_equal(steps, scale.options.every);
    const Value counted = select(grows, 0, steps);
    const Value doubled = select(grows, scale.value * 2, scale.value);
    const Value halved = maximum(scale.value / 2, 1);
    updates.push_back(assign(scale.good_steps, select(good, counted, 0)));
    updates.push_back(assign(scale.value, select(good, doubled, halved)));
  });
  return updates;
}

Values accumulated(const Gradients& gradients, std::int64_t count, const Optimizer& optimizer, source_location at) {
  require_some("accumulated", gradients, at);
  if (count < 1) throw Error(Code::plan, "accumulated: over {} steps", count).at(at).hint("give 1 or more");
  const Value& first = gradients[0].variable;
  Values of_loss;
  for (const Gradient& g : gradients) of_loss.push_back(g.gradient);
  const StepWeight weight = step_weight(of_loss, "accumulated", first.graph().line_for(at));
  Values updates;
  const Value last = make_beside(first, at, [&] {
    Graph& graph = first.graph();
    const Value steps = graph.variable(std::string(first.op().name()) + "/accumulated_steps",
                                       number_constant(graph, 0, DType::int64, at));
    const Value next = steps + 1;
    const Value full = greater_equal(next, count);
    updates.push_back(assign(steps, select(full, 0, next)));
    return full;
  });
  Value share;  // weight of this step in the mean of the steps so far, if steps have different weights
  if (weight.value.defined())
    share = make_beside(first, at, [&] {
      Graph& graph = first.graph();
      const Value before = graph.variable(std::string(first.op().name()) + "/accumulated_weight",
                                          number_constant(graph, 0, DType::float32, at));
      const Value total = before + weight.value;
      updates.push_back(assign(before, select(last, 0, total)));
      const Value counts = greater(weight.value, 0);
      const Value part = weight.value / total;
      return select(counts, part, 0);
    });
  Gradients means;
  for (const Gradient& g : gradients)
    make_beside(g.variable, at, [&] {
      const Value before = zeros_beside(g.variable, "accumulated");
      const Value now = place_gradient(g.variable, g.gradient);
      const Value total = share.defined() ? moved_towards(before, now, share) : before + now;
      updates.push_back(assign(before, select(last, 0, total)));
      means.push_back({g.variable, share.defined() ? total : total / count});
    });
  for (const Value& update : only_when(last, optimizer(means), at)) updates.push_back(update);
  return updates;
}

std::span<const OpDef* const> mixed_ops() {
  return kMixedOps;
}

}  // namespace ferry
