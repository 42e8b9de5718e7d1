#include "bench/graphs/decoder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.hpp"

using namespace ferry;
using namespace ferry::bench;

namespace {

using Row = std::vector<double>;

/// The decoder in plain loops of float64, with the weights of a session.
class PlainDecoder {
 public:
  PlainDecoder(const DecoderSizes& sizes, Weights weights, TensorMap variables)
      : sizes_(sizes),
        weights_(weights),
        variables_(std::move(variables)),
        keys_(sizes.layers),
        values_(sizes.layers) {}

  /// The logits after a token at this position. Positions are decoded in order.
  Row decode(std::int64_t token, std::int64_t position) {
    const Row embedding = numbers("embedding");
    Row x(embedding.begin() + token * sizes_.width, embedding.begin() + (token + 1) * sizes_.width);
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      const std::string layer = "layer" + std::to_string(i) + "/";
      add(x, attend(layer, static_cast<std::size_t>(i), norm(x, layer + "attention_norm"), position));
      add(x, feed_forward(layer, norm(x, layer + "feed_forward_norm")));
    }
    return product(norm(x, "norm"), "head");
  }

 private:
  [[nodiscard]] Row numbers(const std::string& name) const {
    const Tensor& tensor = variables_.at(name);
    if (tensor.dtype() == DType::float32) return {tensor.data<float>().begin(), tensor.data<float>().end()};
    return {tensor.data<std::int8_t>().begin(), tensor.data<std::int8_t>().end()};
  }

  static void add(Row& x, const Row& other) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += other[i];
  }

  [[nodiscard]] Row norm(Row x, const std::string& name) const {
    double squares = 0;
    for (const double number : x) squares += number * number;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + kNormEpsilon);
    const Row scale = numbers(name);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factor * scale[i];
    return x;
  }

  [[nodiscard]] Row product(Row x, const std::string& name) const {
    const Row matrix = numbers(name);
    Row y(matrix.size() / x.size());
    double scale = 1;
    if (weights_ == Weights::int8) {
      scale = 0;
      for (const double number : x) scale = std::max(scale, std::abs(number) / 127);
      for (double& number : x) number = std::nearbyint(number / scale);
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * matrix[i * y.size() + j];
    if (weights_ == Weights::int8) {
      const Row scales = numbers(name + "_scales");
      for (std::size_t j = 0; j < y.size(); ++j) y[j] *= scale * scales[j];
    }
    return y;
  }

  /// Rotates the pairs of elements i and i + half of a head.
  void rotate(double* head, std::int64_t position) const {
    const std::int64_t half = sizes_.head() / 2;
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(kRotaryBase, -static_cast<double>(i) / static_cast<double>(half));
      const double a = head[i], b = head[i + half];
      head[i] = a * std::cos(angle) - b * std::sin(angle);
      head[i + half] = a * std::sin(angle) + b * std::cos(angle);
    }
  }

  Row attend(const std::string& layer, std::size_t index, const Row& x, std::int64_t position) {
    const std::int64_t size = sizes_.head(), heads = sizes_.heads, key_heads = sizes_.key_heads;
    Row all = product(x, layer + "queries_keys_values");
    for (std::int64_t head = 0; head < heads + key_heads; ++head) rotate(&all[head * size], position);
    const auto keys = all.begin() + heads * size, values = keys + key_heads * size;
    keys_[index].emplace_back(keys, values);
    values_[index].emplace_back(values, all.end());
    Row seen(heads * size);
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t shared = head / (heads / key_heads) * size;
      double total = 0;
      for (std::size_t p = 0; p < keys_[index].size(); ++p) {
        double score = 0;
        for (std::int64_t i = 0; i < size; ++i) score += all[head * size + i] * keys_[index][p][shared + i];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
        total += weight;
        for (std::int64_t i = 0; i < size; ++i) seen[head * size + i] += weight * values_[index][p][shared + i];
      }
      for (std::int64_t i = 0; i < size; ++i) seen[head * size + i] /= total;
    }
    return product(seen, layer + "joined");
  }

  [[nodiscard]] Row feed_forward(const std::string& layer, const Row& x) const {
    const Row both = product(x, layer + "gate_up");
    Row hidden(both.size() / 2);
    for (std::size_t i = 0; i < hidden.size(); ++i)
      hidden[i] = both[i] / (1 + std::exp(-both[i])) * both[i + hidden.size()];
    return product(hidden, layer + "down");
  }

  const DecoderSizes sizes_;
  const Weights weights_;
  const TensorMap variables_;
  std::vector<std::vector<Row>> keys_, values_;  ///< by layer and position
};

void check_decoder(Weights weights, int threads, double tolerance) {
  constexpr DecoderSizes kSizes{
      .layers = 2, .width = 64, .hidden = 80, .heads = 4, .key_heads = 2, .vocabulary = 100, .positions = 6};
  Graph g;
  const Decoder step = decoder(g, kSizes, weights, 0);
  ClusterOptions cluster;
  cluster.tasks = 1;
  cluster.threads = threads;
  cluster.transport = "inproc";
  Session session(g, Cluster::connect(cluster));
  const RunRequest request{.fetches = {step.logits}, .targets = step.updates};
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < kSizes.positions; ++i) all.push_back(session.run(request)[0]);

  PlainDecoder plain(kSizes, weights, session.variables());
  std::int64_t token = 1;
  for (std::int64_t i = 0; i < kSizes.positions; ++i) {
    CAPTURE(i);
    const auto logits = all[static_cast<std::size_t>(i)].data<float>();
    const Row expected = plain.decode(token, i);
    double largest = 0, difference = 0;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      largest = std::max(largest, std::abs(expected[j]));
      difference = std::max(difference, std::abs(expected[j] - static_cast<double>(logits[j])));
    }
    CHECK(difference < tolerance * largest);
    token = std::ranges::max_element(logits) - logits.begin();
  }
  CHECK(session.variables().at("token").data<std::int64_t>()[0] == token);
}

}  // namespace

TEST_CASE("the decoder has the logits of plain loops, token after token") {
  for (const int threads : {1, 2}) {
    check_decoder(Weights::float32, threads, 1e-5);
    check_decoder(Weights::int8, threads, 1e-2);  // a quantized number may be rounded to its other neighbour
  }
}
