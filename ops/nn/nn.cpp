#include "ops/nn/nn.hpp"

#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

/// Returns index notation such as "a[n]b->a[n]b".
std::string along_axis(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string along = letters.next();
  const std::string text = before + whole(along) + letters.next(facts.shape(0).rank() - axis - 1);
  return text + "->" + text;
}

std::vector<Shape> labelled_shape(const OpFacts& facts, int logits, int labels) {
  const Shape& rows = facts.shape(labels);
  const Shape& scores = facts.shape(logits);
  bool fit = scores.rank() == rows.rank() + 1;
  for (int d = 0; fit && d < rows.rank(); ++d) fit = rows[d] == scores[d] || !rows[d].known() || !scores[d].known();
  if (!fit) OpFacts::fail("labels " + rows.str() + " do not fit logits " + scores.str());
  return {rows};
}

std::vector<Shape> cross_entropy_shape(const OpFacts& facts) {
  return labelled_shape(facts, 0, 1);
}

std::vector<Shape> cross_entropy_grad_shape(const OpFacts& facts) {
  static_cast<void>(labelled_shape(facts, 1, 2));
  static_cast<void>(labelled_shape(facts, 1, 0));
  return {facts.shape(1)};
}

Value times_row_sums(const Value& x, const Value& y, std::int64_t axis) {
  return x * sum(y, {axis}, true);
}

constexpr double kRowFlops = 15;  // an exp and a few more operations for each element
constexpr AttrDef kAxisAttr[] = {{"axis", "int"}};

constexpr OpDef kSoftmax{.name = "Softmax",
                         .types = "T->T",
                         .T = kFloats,
                         .attrs = kAxisAttr,
                         .index_of = along_axis,
                         .flops = kRowFlops,
                         .grad = [](GradCtx& g) {
                           const auto axis = g.attrs().get<std::int64_t>("axis");
                           const Value scaled = g.dout() * g.out();
                           return Values{scaled - times_row_sums(g.out(), scaled, axis)};
                         }};

constexpr OpDef kLogSoftmax{.name = "LogSoftmax",
                            .types = "T->T",
                            .T = kFloats,
                            .attrs = kAxisAttr,
                            .index_of = along_axis,
                            .flops = kRowFlops,
                            .grad = [](GradCtx& g) {
                              const auto axis = g.attrs().get<std::int64_t>("axis");
                              return Values{g.dout() - times_row_sums(exp(g.out()), g.dout(), axis)};
                            }};

Value cross_entropy_grad(const Value& dloss, const Value& logits, const Value& labels);

constexpr OpDef kCrossEntropy{.name = "SoftmaxCrossEntropy",
                              .types = "T,U->T",
                              .T = kFloats,
                              .U = kInts,
                              .index = "...[c],...->...",
                              .infer = cross_entropy_shape,
                              .flops = kRowFlops,
                              .grad = [](GradCtx& g) {
                                return Values{cross_entropy_grad(g.dout(), g.in(0), g.in(1)), Value()};
                              }};

// With p = softmax(logits) and y = dloss * (p - one_hot): dy/ddloss = p - one_hot, and dy/dlogits is dloss times the
// derivative of softmax.
constexpr OpDef kCrossEntropyGrad{
    .name = "SoftmaxCrossEntropyGrad",
    .types = "T,T,U->T",
    .T = kFloats,
    .U = kInts,
    .index = "...,...[c],...->...[c]",
    .linear = 0b001,
    .infer = cross_entropy_grad_shape,
    .flops = kRowFlops,
    .grad = [](GradCtx& g) {
      return Values{
          g.want(0, [&] { return sum(g.dout() * cross_entropy_grad(ones_like(g.in(0)), g.in(1), g.in(2)), {-1}); }),
          g.want(1,
                 [&] {
                   const Value p = softmax(g.in(1));
                   const Value scaled = g.dout() * expand_dims(g.in(0), {-1}) * p;
                   return scaled - times_row_sums(p, scaled, -1);
                 }),
          Value()};
    }};

Value cross_entropy_grad(const Value& dloss, const Value& logits, const Value& labels) {
  return make_one(kCrossEntropyGrad, {dloss, logits, labels}, logits.op().line());
}

constexpr const OpDef* kNnOps[] = {&kSoftmax, &kLogSoftmax, &kCrossEntropy, &kCrossEntropyGrad};

}  // namespace

Value softmax(const Value& x, std::int64_t axis, source_location at) {
  return make_one(kSoftmax, {x}, at, {{"axis", axis}});
}

Value log_softmax(const Value& x, std::int64_t axis, source_location at) {
  return make_one(kLogSoftmax, {x}, at, {{"axis", axis}});
}

Value softmax_cross_entropy(const Value& logits, const Value& labels, source_location at) {
  return make_one(kCrossEntropy, {logits, labels}, at);
}

std::span<const OpDef* const> nn_ops() {
  return kNnOps;
}

}  // namespace ferry
