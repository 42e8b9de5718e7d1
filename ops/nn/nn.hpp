// Softmax and cross-entropy.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// exp(x) / sum(exp(x)) along `axis`, computed from x - max(x). Floating-point.
///
///     softmax(g.constant({0.0, 1.0}));  // [0.268941 0.731059]
Value softmax(const Value& x, std::int64_t axis = -1, source_location at = source_location::current());

/// x - log(sum(exp(x))) along `axis`, computed from x - max(x). Floating-point.
///
///     log_softmax(g.constant({0.0, 1.0}));  // [-1.31326 -0.313262]
Value log_softmax(const Value& x, std::int64_t axis = -1, source_location at = source_location::current());

/// -log(softmax(logits)[label]) of each row. logits are [...,classes], labels [...] (integers), and the
/// loss is [...]. A label out of range is an error at run time.
///
///     softmax_cross_entropy(g.constant({{0.0, 1.0}}), g.constant({1}));  // [0.313262]
///     mean(softmax_cross_entropy(logits, labels));                       // float32[]
Value softmax_cross_entropy(const Value& logits, const Value& labels, source_location at = source_location::current());

/// The ops, with their attributes in braces: Softmax, LogSoftmax {axis}, SoftmaxCrossEntropy(logits, labels), and
/// SoftmaxCrossEntropyGrad(dloss, logits, labels) = dloss * (softmax(logits) - one_hot(labels)).
[[nodiscard]] std::span<const OpDef* const> nn_ops();

}  // namespace ferry
#pragma GCC visibility pop
