#include "ops/gradient.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/graph_facts.hpp"
#include "graph/index_notation.hpp"
#include "ops/broadcast.hpp"
#include "ops/build.hpp"
#include "ops/math.hpp"

namespace ferry {
namespace {

/// Walks backwards from the loss, op by op, adding up what reaches each value.
class Backward {
 public:
  Backward(Graph& graph, ValueId loss, std::vector<ValueId> xs)
      : graph_(graph), loss_(loss), xs_(std::move(xs)), depends_(graph.values()), douts_(graph.values()) {
    mark_dependent();
  }

  /// Gradients of the xs where `dloss` is that of the loss; undefined where nothing reaches an x.
  Values run(const Value& dloss) {
    douts_[loss_] = dloss;
    for (OpId id = graph_.producer(loss_) + 1; id > 0; --id) step(id - 1);
    Values result;
    for (ValueId x : xs_) result.push_back(douts_[x]);
    return result;
  }

 private:
  /// Marks the floating-point values that depend on one of the xs.
  void mark_dependent() {
    for (ValueId x : xs_) depends_[x] = true;
    for (OpId id = 0; id <= graph_.producer(loss_); ++id) {
      const Op op = graph_.op(id);
      const auto inputs = op.inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return depends_[input]; })) continue;
      for (int i = 0; i < op.outputs(); ++i)
        if (is_float(graph_.type(op.output(i)).dtype)) depends_[op.output(i)] = true;
    }
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
    GradCtx context(graph_, id, std::move(douts), std::move(wanted));
    const Values dinputs = op.def().grad(context);
    const bool broadcasts = notation_of(context.op().def(), GraphFacts(context.op())).find("...") != std::string::npos;
    FERRY_ASSERT(static_cast<int>(dinputs.size()) == context.inputs(),
                 "the gradient of " + std::string(context.op().def().name) + " does not give one value for each input");
    for (int i = 0; i < context.inputs(); ++i)
      if (context.wants(i) && dinputs[static_cast<std::size_t>(i)].defined())
        arrive(context.in(i), dinputs[static_cast<std::size_t>(i)], broadcasts);
  }

  /// Of an op that broadcasts its inputs, the gradient is summed back to the input's shape.
  void arrive(const Value& x, const Value& given, bool broadcasts) {
    const Value dx = broadcasts ? sum_as(given, x) : given;
    Value& total = douts_[x.id()];
    total = total.defined() ? total + dx : dx;
  }

  Graph& graph_;
  ValueId loss_;
  std::vector<ValueId> xs_;
  std::vector<bool> depends_;
  Values douts_;
};

}  // namespace

Values gradients(const Value& loss, std::span<const Value> xs, source_location at) {
  Values all(xs.begin(), xs.end());
  all.push_back(loss);
  Graph& graph = graph_of(all, at);
  const ValueId end = graph.capture(loss).id();
  if (!is_float(loss.dtype()))
    throw Error(Code::plan, "gradients: the loss '" + loss.name() + "' is " + loss.type().str()).at(at).hint("cast it");
  std::vector<ValueId> ids;
  for (const Value& x : xs) ids.push_back(graph.capture(x).id());

  const Scope names = graph.name("grad");
  Value dloss;
  {
    const Scope line = derived(graph, loss.op().line());
    const Scope place = graph.annotated({loss.op().annotation().device, loss.op().annotation().mesh, {}});
    dloss = ones_like(graph.value(end));
  }
  Values result = Backward(graph, end, std::move(ids)).run(dloss);
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined())
      throw Error(Code::plan, "gradients: the loss '" + loss.name() + "' does not depend on " + xs[i].op().str())
          .at(at);
  return result;
}

Value GradCtx::dout(int i) {
  Value& dout = douts_[static_cast<std::size_t>(i)];
  if (!dout.defined()) dout = zeros_like(out(i));
  return dout;
}

}  // namespace ferry
