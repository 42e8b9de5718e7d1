// Losses.
#include "ops/train/loss.hpp"

#include "ops/nn/nn.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

Value loss(Context& c, const Value& scores) {
  Counted counted;
  const std::string reduction = c.text("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    Context::fail("a reduction of '" + reduction + "'");
  counted.reduction = reduction == "none" ? Reduction::none : reduction == "sum" ? Reduction::sum : Reduction::mean;
  if (c.has_attr("ignore_index")) counted.ignored = c.integer("ignore_index");
  if (c.has(2)) counted.weights = c.in(2);
  return nll_loss(scores, c.in(1), counted);
}

Outs to_nll_loss(Context& c) {
  return loss(c, c.in(0));
}

Outs to_cross_entropy(Context& c) {
  const Value logarithms = log_softmax(c.in(0), 1);
  return {loss(c, logarithms), logarithms};
}

constexpr ConvertOp kLoss[] = {
    {"NegativeLogLikelihoodLoss", 12, to_nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, to_cross_entropy},
};

}  // namespace

std::span<const ConvertOp> loss_converters() {
  return kLoss;
}

}  // namespace ferry::onnx
