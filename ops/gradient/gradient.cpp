#include "ops/gradient/gradient.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/graph_facts.hpp"
#include "graph/op/index_notation.hpp"
#include "ops/build.hpp"
#include "ops/gradient/remake.hpp"
#include "ops/gradient/row_products.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// Walks backwards from the loss, op by op, and adds up the gradients that reach each value.
class Backward {
 public:
  Backward(Graph& graph, OpId last, std::vector<ValueId> xs)
      : graph_(graph),
        remaker_(graph),
        last_(last),
        xs_(std::move(xs)),
        depends_(dependent_values()),
        row_products_(graph, last, depends_),
        douts_(graph.values()) {}

  /// Starts with `dy` as the gradient of y.
  void seed(ValueId y, const Value& dy) { add_gradient(graph_.value(y), dy, false); }

  /// Returns the gradients of the xs; a gradient is undefined if none reaches the x.
  Values run() {
    for (OpId id = last_ + 1; id > 0; --id) {
      step(id - 1);
      finish_row_products(id - 1);
    }
    Values result;
    for (ValueId x : xs_) result.push_back(douts_[x]);
    return result;
  }

 private:
  /// The floating-point values that depend on one of the xs.
  [[nodiscard]] std::vector<bool> dependent_values() const {
    std::vector<bool> depends(graph_.values());
    for (ValueId x : xs_) depends[x] = true;
    for (OpId id = 0; id <= last_; ++id) {
      const Op op = graph_.op(id);
      const auto inputs = op.inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return depends[input]; })) continue;
      for (int i = 0; i < op.outputs(); ++i)
        if (is_float(graph_.type(op.output(i)).dtype)) depends[op.output(i)] = true;
    }
    return depends;
  }

  void step(OpId id) {
    const Op op = graph_.op(id);
    std::vector<bool> wanted;
    for (ValueId input : op.inputs()) wanted.push_back(depends_[input]);
    Values douts;
    for (int i = 0; i < op.outputs(); ++i) douts.push_back(douts_[op.output(i)]);
    const auto is_set = [](const Value& value) { return value.defined(); };
    if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return;
    if (std::none_of(douts.begin(), douts.end(), is_set)) return;
    if (op.def().grad == nullptr)
      throw Error(Code::plan, "gradients: " + op.str() + " has no gradient: " + std::string(op.def().no_grad))
          .hint("use stop_gradient where nothing should flow");

    const Scope line = graph_.line(op.line());
    const Scope place = graph_.annotated({op.annotation().device, op.annotation().mesh, {}});
    const bool with_others = row_products_.has(id);
    if (with_others) wanted[1] = false;
    GradCtx context(graph_, remaker_, id, std::move(douts), std::move(wanted));
    if (with_others) {
      const Value a = context.in(0), dy = context.dout();
      row_products_.store_factors(context.op(), a, dy);
    }
    const Values dinputs = op.def().grad(context);
    const bool broadcasts = notation_of(context.op().def(), GraphFacts(context.op())).find("...") != std::string::npos;
    FERRY_ASSERT(static_cast<int>(dinputs.size()) == context.inputs(),
                 "the gradient of " + std::string(context.op().def().name) + " does not give one value for each input");
    for (int i = 0; i < context.inputs(); ++i)
      if (context.wants(i) && dinputs[i].defined()) add_gradient(context.like(i), dinputs[i], broadcasts);
  }

  /// Makes the gradient of a matrix of several products (RowProducts), if `id` is the first of these products.
  void finish_row_products(OpId id) {
    if (!row_products_.has(id)) return;
    const Op op = graph_.op(id);
    const Value matrix = graph_.value(op.inputs()[1]);
    const Scope line = graph_.line(op.line());
    const Scope place = graph_.annotated({op.annotation().device, op.annotation().mesh, {}});
    const Value gradient = row_products_.finish(id);
    if (gradient.defined()) add_gradient(matrix, gradient, false);
  }

  /// Adds a term to the gradient of x. If the op broadcasts its inputs, the gradient is first summed back to x's shape.
  void add_gradient(const Value& x, const Value& given, bool broadcasts) {
    const Value dx = broadcasts ? sum_as(given, x) : given;
    Value& total = douts_[x.id()];
    total = total.defined() ? total + dx : dx;
  }

  Graph& graph_;
  Remaker remaker_;
  OpId last_;
  std::vector<ValueId> xs_;
  std::vector<bool> depends_;
  RowProducts row_products_;
  Values douts_;
};

}  // namespace

Values gradients(const Value& loss, std::span<const Value> xs, source_location at) {
  Values all(xs.begin(), xs.end());
  all.push_back(loss);
  Graph& graph = graph_of(all, at);
  const Value y = graph.capture(loss);
  if (!is_float(y.dtype()))
    throw Error(Code::plan, "gradients: the loss '" + y.name() + "' is " + y.type().str()).at(at).hint("cast it");
  Value dy;
  {
    const Scope names = graph.name("grad");
    const Scope line = caller_scope(graph, y.op().line());
    const Scope place = graph.annotated({y.op().annotation().device, y.op().annotation().mesh, {}});
    dy = ones_like(y);
  }
  Values result = pullback({y}, {dy}, xs, at);
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined())
      throw Error(Code::plan, "gradients: the loss '" + loss.name() + "' does not depend on " + xs[i].op().str())
          .at(at)
          .hint("leave it out, or use it in the loss; stop_gradient() and integers pass no gradient on");
  return result;
}

Values pullback(const Values& ys, const Values& dys, std::span<const Value> xs, source_location at) {
  if (ys.size() != dys.size())
    throw Error(Code::plan, "pullback: {} values have {} gradients", ys.size(), dys.size())
        .at(at)
        .hint("give a gradient for each value");
  Values all(xs.begin(), xs.end());
  all.insert(all.end(), ys.begin(), ys.end());
  Graph& graph = graph_of(all, at);
  std::vector<ValueId> ids;
  for (const Value& x : xs) ids.push_back(graph.capture(x).id());
  const Scope names = graph.name("grad");
  OpId last = 0;
  for (const Value& y : ys) last = std::max(last, graph.producer(graph.capture(y).id()));
  Backward backward(graph, last, std::move(ids));
  for (std::size_t i = 0; i < ys.size(); ++i) backward.seed(graph.capture(ys[i]).id(), dys[i]);
  return backward.run();
}

Value GradCtx::in(int i) const {
  return remaker_.read_by(op_, op().inputs()[i]);
}

Value GradCtx::out(int i) const {
  return remaker_.read_by(op_, op().output(i));
}

Value GradCtx::dout(int i) {
  Value& dout = douts_[i];
  if (!dout.defined()) dout = zeros_like(graph_.value(op().output(i)));
  return dout;
}

}  // namespace ferry
