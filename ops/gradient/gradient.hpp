// Gradients: reverse-mode differentiation as a transformation of the graph.
//
//     Value loss = mean(square(matmul(x, w) - y));
//     Value dw = gradients(loss, {w})[0];
//
// For every op between the loss and the xs, OpDef::grad returns the gradients of its inputs, as ops of the same graph.
// These ops have the source line and the device (or mesh) of the op that they are derived from, so that the backward
// pass runs where the forward pass ran.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Remaker;

/// Gradients of the sum of `loss`'s elements with respect to `xs`: one value for each x, with its dtype and shape. The
/// loss is usually a scalar. Also works within a body of control flow; `xs` may be values of enclosing graphs.
///
/// Error(plan) if the loss is not floating-point, if it does not depend on one of `xs`, or if an op on the way has no
/// gradient. The message names the op, its line, and the reason.
///
///     Value v = g.constant({1.0, 2.0});
///     gradients(square(v), {v})[0];  // [2 4]
[[nodiscard]] Values gradients(const Value& loss, std::span<const Value> xs,
                               source_location at = source_location::current());
[[nodiscard]] inline Values gradients(const Value& loss, const Values& xs,
                                      source_location at = source_location::current()) {
  return gradients(loss, std::span<const Value>(xs), at);
}

/// The gradients of the sum over i of ys[i] * dys[i] with respect to `xs` (the vector-Jacobian product); undefined for
/// an x on which the ys do not depend. The ys are floating-point; each dy has the type of its y.
///
///     Value v = g.constant({1.0, 2.0});
///     pullback({square(v)}, {g.constant({1.0, 10.0})}, Values{v})[0];  // [2 40]
[[nodiscard]] Values pullback(const Values& ys, const Values& dys, std::span<const Value> xs,
                              source_location at = source_location::current());

/// An op as OpDef::grad sees it: its inputs, its outputs, and the gradients of its outputs.
///
///     static constexpr OpDef kProduct{
///         .name = "Product", .types = "T,T->T", .index = "...,...->...", .grad = [](GradCtx& g) {
///           return Values{g.dout() * g.in(1), g.dout() * g.in(0)};
///         }};
///
/// grad returns one value for each input; an undefined value means that no gradient flows to the input. A gradient may
/// have the shape to which the input was broadcast: it is summed to the input's own shape afterwards.
class GradCtx {
 public:
  /// `douts`: the gradient of each output, undefined if none reaches it; `wanted`: for each input, whether its gradient
  /// is needed.
  GradCtx(Graph& graph, Remaker& remaker, OpId op, Values douts, std::vector<bool> wanted)
      : graph_(graph),
        remaker_(remaker),
        op_(op),
        douts_(std::move(douts)),
        wanted_(std::move(wanted)),
        attrs_(graph.op(op).attrs()) {}

  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] Op op() const { return graph_.op(op_); }
  [[nodiscard]] const Attrs& attrs() const { return attrs_; }
  [[nodiscard]] SourceLine line() const { return op().line(); }
  [[nodiscard]] int inputs() const { return static_cast<int>(op().inputs().size()); }
  [[nodiscard]] int outputs() const { return op().outputs(); }
  /// The op's inputs and outputs. If the op is in a scope of Graph::remade(), they are recomputed copies.
  [[nodiscard]] Value in(int i = 0) const;
  [[nodiscard]] Value out(int i = 0) const;
  /// Input i, for uses of its sizes alone: it is never recomputed.
  [[nodiscard]] Value like(int i = 0) const { return graph_.value(op().inputs()[i]); }
  /// Gradient of output i: zeros if none reaches it.
  [[nodiscard]] Value dout(int i = 0);
  /// Whether a gradient reaches output i.
  [[nodiscard]] bool has_dout(int i) const { return douts_[i].defined(); }
  /// Whether the gradient of input i is needed; if not, do not compute it.
  [[nodiscard]] bool wants(int i) const { return wanted_[i]; }
  /// make() if input i's gradient is needed, else an undefined value.
  template <class Make>
  [[nodiscard]] Value want(int i, Make&& make) const {
    return wants(i) ? make() : Value();
  }

 private:
  Graph& graph_;
  Remaker& remaker_;
  OpId op_;
  Values douts_;
  std::vector<bool> wanted_;
  Attrs attrs_;  // a copy, because adding ops invalidates references to the graph's attributes
};

}  // namespace ferry
#pragma GCC visibility pop
