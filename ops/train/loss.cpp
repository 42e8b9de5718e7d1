#include "ops/train/loss.hpp"

#include <string>

#include "base/error.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

/// The class numbers 0, 1, … in that dtype, as a tensor [classes,1,…] that can be broadcast to scores.
Tensor classes(std::int64_t count, int image_dims, DType dtype) {
  Ints sizes(static_cast<std::size_t>(image_dims) + 1, 1);
  sizes[0] = count;
  Tensor tensor(dtype, sizes);
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t c = 0; c < count; ++c) tensor.mutable_data<T>()[c] = static_cast<T>(c);
  };
  dispatch(dtype, fill);
  return tensor;
}

/// For each label, the element of its class in `values`, which are broadcast to scores.
Value at_label(const Value& is_label, const Value& values) {
  return sum(select(is_label, values, 0), {1});
}

/// Ones with the shape of the labels. They depend only on the labels, so pipeline() computes their sum over the whole
/// batch.
Value one_for_each(const Value& labels, DType dtype) {
  return broadcast_as(number_constant(labels.graph(), 1, dtype, labels.op().line()), labels);
}

}  // namespace

Value nll_loss(const Value& scores, const Value& labels, const Counted& counted, source_location at) {
  Graph& graph = graph_of({{scores, labels}}, at);
  const Scope here = caller_scope(graph, at);
  const int dims = scores.rank() - 2;
  if (dims < 0 || labels.rank() != scores.rank() - 1 || !scores.shape()[1].known())
    throw Error(Code::plan, "nll_loss: labels " + labels.shape().str() + " do not fit scores " + scores.shape().str() +
                                " of [n,classes,…]")
        .at(at)
        .hint("give labels the sizes of the scores without the dim of classes");
  if (is_half(scores.dtype())) {
    Counted wide = counted;
    if (wide.weights.defined()) wide.weights = cast(wide.weights, DType::float32);
    return cast(nll_loss(cast(scores, DType::float32), labels, wide, at), scores.dtype());
  }
  check_computed("nll_loss: classes", scores.shape()[1].size(), at);
  const std::int64_t count = scores.shape()[1].size();
  const Value numbers = graph.constant(classes(count, dims, labels.dtype()));
  const Value checked = check_range(labels, count, IndexKind::label, counted.ignored, at);
  const Value is_label = equal(expand_dims(checked, {1}), numbers);
  Value losses = -at_label(is_label, scores);
  Value weights;
  if (counted.weights.defined()) {
    Ints axes;
    for (int d = 1; d <= dims; ++d) axes.push_back(d);
    weights = at_label(is_label, expand_dims(counted.weights, axes));
    losses = losses * weights;
  }
  if (counted.ignored) {
    const Value ignored = equal(labels, *counted.ignored);
    losses = select(ignored, 0, losses);
    weights = select(ignored, 0, weights.defined() ? weights : one_for_each(labels, losses.dtype()));
  }
  if (counted.reduction == Reduction::none) return losses;
  if (counted.reduction == Reduction::sum) return sum(losses);
  if (!weights.defined()) return mean(losses);
  const Value total = sum(losses);
  return total / sum(weights);
}

Value binary_cross_entropy_with_logits(const Value& logits, const Value& labels, source_location at) {
  const Scope here = caller_scope(graph_of({{logits, labels}}, at), at);
  bool fits = logits.rank() == labels.rank();
  for (int d = 0; fits && d < logits.rank(); ++d) fits = is_one(logits.shape()[d]) == is_one(labels.shape()[d]);
  if (!fits)
    throw Error(Code::plan, "binary_cross_entropy_with_logits: labels " + labels.shape().str() + " do not fit logits " +
                                logits.shape().str())
        .at(at)
        .hint("give both one shape, for example by squeeze(logits, {-1})");
  const Value wanted = is_float(labels.dtype()) ? labels : cast(labels, logits.dtype());
  return in_float32({logits, wanted}, at, [](const Values& v) {
    const Value product = v[0] * v[1];
    const Value linear = relu(v[0]) - product;
    const Value size = minimum(v[0], -v[0]);  // -|x|; its gradient at 0 is 1, since relu's gradient is 0 there
    return linear + softplus(size);
  });
}

}  // namespace ferry
