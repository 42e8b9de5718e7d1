#include "ops/train/regularize.hpp"

#include <string>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ops/build.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/beside.hpp"

namespace ferry {
namespace {

void require_some(std::string_view what, const Gradients& gradients, const SourceLine& line) {
  if (gradients.empty())
    throw Error(Code::plan, std::string(what) + ": no gradients")
        .at(line)
        .hint("give one for each variable, as gradients() does");
}

/// Replaces each gradient by change(variable, gradient). The ops are placed on the variable's device or mesh.
template <class Change>
Gradients each(const Gradients& gradients, const SourceLine& line, Change&& change) {
  Gradients result;
  for (const Gradient& g : gradients) {
    Graph& graph = graph_of({{g.variable, g.gradient}}, line);
    const Scope here = caller_scope(graph, line);
    const Scope place = graph.annotated(place_of(g.variable));
    result.push_back({g.variable, change(g.variable, place_gradient(g.variable, g.gradient))});
  }
  return result;
}

/// The norm of all gradients together, which must have been summed over tasks.
Value norm_of(const Gradients& gradients, const SourceLine& line) {
  Value total;
  for (const Gradient& g : gradients) {
    Graph& graph = g.gradient.graph();
    const Scope here = caller_scope(graph, line);
    const Scope place = graph.annotated(place_of(g.variable));
    const Value squares = sum(square(g.gradient));
    total = total.defined() ? total + squares : squares;
  }
  const Scope here = caller_scope(total.graph(), line);
  const Scope place = total.graph().annotated(place_of(gradients[0].variable));
  return cast(sqrt(total), gradients[0].gradient.dtype());
}

}  // namespace

Gradients weight_decay(const Gradients& gradients, double factor, source_location at) {
  require_some("weight_decay", gradients, at);
  for (const Gradient& one : gradients) require_float("weight_decay", one.gradient, at);
  return each(gradients, at, [&](const Value& w, const Value& g) { return g + w * factor; });
}

Value global_norm(const Gradients& gradients, source_location at) {
  require_some("global_norm", gradients, at);
  return norm_of(each(gradients, at, [](const Value&, const Value& g) { return g; }), at);
}

Gradients clip_by_norm(const Gradients& gradients, double most, source_location at) {
  require_some("clip_by_norm", gradients, at);
  if (!(most > 0))
    throw Error(Code::plan, "clip_by_norm: to a norm of " + digits_text(most, 6)).at(at).hint("give a norm above 0");
  const Gradients whole = each(gradients, at, [](const Value&, const Value& g) { return g; });
  const Value norm = norm_of(whole, at);
  Value factor;
  {
    const Scope here = caller_scope(norm.graph(), at);
    const Scope place = norm.graph().annotated(place_of(gradients[0].variable));
    factor = most / maximum(norm, most);
  }
  Gradients result;
  for (const Gradient& g : whole) {
    Graph& graph = g.gradient.graph();
    const Scope here = caller_scope(graph, at);
    const Scope place = graph.annotated(place_of(g.variable));
    result.push_back({g.variable, g.gradient * cast(factor, g.gradient.dtype())});
  }
  return result;
}

}  // namespace ferry
