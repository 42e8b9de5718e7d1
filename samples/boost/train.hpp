// Training of boosted trees over all tasks. Each task sums the gradients of its rows into histograms, and an all-reduce
// gives all tasks the histograms of all rows.
//
// The algorithm and its arithmetic are those of XGBoost's `hist` (T. Chen, C. Guestrin: "XGBoost: A Scalable Tree
// Boosting System", 2016), for the logistic loss, with its defaults: lambda 1, min_child_weight 1, 256 bins.
#pragma once

#include <ferry/executor/cluster.hpp>

#include "samples/boost/model.hpp"
#include "samples/boost/rows.hpp"

namespace boost_sample {

struct Settings {
  int depth = 6;
  float eta = 0.3F;
  int rounds = 10;
};

/// Trains a model. It is the same, to the bit, on every task and for any number of tasks: gradients are summed as
/// integers.
[[nodiscard]] Model train(const Rows& rows, const Cuts& cuts, const Settings& settings, const ferry::Cluster& cluster);

}  // namespace boost_sample
