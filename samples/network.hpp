// A fully connected network, as the samples `fashion` and `digits` train it.
#pragma once

#include <ferry/ferry.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace samples {

/// Weights and biases of layers of these sizes. The weights begin as He et al. (2015) propose: normal, sqrt(2 /
/// inputs).
class Network {
 public:
  Network(ferry::Graph& g, const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const std::string layer = "layer" + std::to_string(i + 1);
      const double spread = std::sqrt(2.0 / static_cast<double>(sizes[i]));
      weights_.push_back(g.variable(layer + "/weights", ferry::normal(g, {sizes[i], sizes[i + 1]}, 0, spread)));
      biases_.push_back(g.variable(layer + "/bias", g.constant(ferry::Tensor(ferry::DType::float32, {sizes[i + 1]}))));
    }
  }

  /// x: float32 [batch, inputs]. Gives the logits, [batch, classes].
  [[nodiscard]] ferry::Value logits(ferry::Value x) const {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      x = ferry::matmul(x, weights_[i]) + biases_[i];
      if (i + 1 < weights_.size()) x = ferry::relu(x);
    }
    return x;
  }

  [[nodiscard]] ferry::Values variables() const {
    ferry::Values all = weights_;
    all.insert(all.end(), biases_.begin(), biases_.end());
    return all;
  }

 private:
  ferry::Values weights_, biases_;
};

/// The share of rows whose largest logit is at the label.
inline ferry::Value accuracy(const ferry::Value& logits, const ferry::Value& labels) {
  const ferry::Value right = ferry::equal(ferry::argmax(logits), ferry::cast(labels, ferry::DType::int64));
  return ferry::mean(ferry::cast(right, ferry::DType::float32));
}

/// Adds the entry `train`: one batch against the mean cross-entropy, by Adam.
inline void add_training(ferry::Graph& g, const Network& network, const ferry::Value& x, const ferry::Value& labels,
                         double rate) {
  const ferry::Value logits = network.logits(x);
  const ferry::Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, labels));
  for (const ferry::Value& update : ferry::adam(loss, network.variables(), rate)) g.target("train", update);
  g.fetch("train", "loss", loss);
  g.fetch("train", "accuracy", accuracy(logits, labels));
}

}  // namespace samples
