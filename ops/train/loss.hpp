// Classification losses: for two classes, and for several classes with class weights and ignored labels.
//
// Errors: all functions throw Error(plan), with the caller's line, if shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// How the losses of a batch become one number.
enum class Reduction {
  none,  ///< not at all: one loss for each label
  mean,  ///< their sum divided by the sum of their weights
  sum
};

/// How much each label of a batch counts.
struct Counted {
  Reduction reduction = Reduction::mean;     ///< of the losses of all labels
  Value weights = {};                        ///< weights of the classes, [classes]; undefined: all are 1
  std::optional<std::int64_t> ignored = {};  ///< labels of this value have loss and weight 0; it need not be a class
};

/// Negative log-likelihood: -scores[n,label,…] times the weight of the label's class. scores [n,classes,d1,…] are
/// log-probabilities, labels [n,d1,…] int32 or int64. The number of classes must be known. A label that is neither a
/// class nor `counted.ignored` is an error at run time.
///
///     nll_loss(log_softmax(logits), labels, {.ignored = -1});  // float32[]
Value nll_loss(const Value& scores, const Value& labels, const Counted& counted = {},
               source_location at = source_location::current());

/// Returns -labels log(p) - (1 - labels) log(1 - p) for each element, with p = sigmoid(logits). It is accurate also
/// where p is near 0 or 1. Labels are probabilities, or 0 and 1 of any dtype. Logits, labels and the result have the
/// same shape.
///
///     binary_cross_entropy_with_logits(g.constant({0.0, 2.0}), g.constant({1, 1}));  // [0.693147 0.126928]
Value binary_cross_entropy_with_logits(const Value& logits, const Value& labels,
                                       source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
