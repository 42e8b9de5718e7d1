// Losses of classification with weights of classes and labels that do not count.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

namespace ferry {

/// How the losses of a batch become one number.
enum class Reduction {
  none,  ///< they do not: one for each label
  mean,  ///< their sum divided by that of their weights
  sum
};

struct Counted {
  Reduction reduction = Reduction::mean;
  Value weights = {};                        ///< of classes, [classes]; undefined: 1 each
  std::optional<std::int64_t> ignored = {};  ///< a label whose losses are 0 with weight 0, of a class or of none
};

/// -scores[n,label,…] times the weight of the label, of logarithms of probabilities, scores [n,classes,d1,…] and labels
/// [n,d1,…] (int32 or int64). The number of classes is known. A label that is no class has a loss of 0.
Value nll_loss(const Value& scores, const Value& labels, const Counted& counted = {},
               source_location at = source_location::current());

}  // namespace ferry
