#include "bench/graphs/decoder.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "graph/file/graph_file.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/control/state.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/quantize.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/math/trig.hpp"
#include "ops/nn/attention.hpp"
#include "ops/nn/norm.hpp"

namespace ferry::bench {
namespace {

/// The step while it is being built.
class Step {
 public:
  Step(Graph& g, const DecoderSizes& sizes, Weights weights, std::int64_t position)
      : g_(g),
        sizes_(sizes),
        weights_(weights),
        token_(g.variable("token", g.constant(1, DType::int64))),
        position_(g.variable("position", g.constant(position, DType::int64))) {
    const std::int64_t half = sizes.head() / 2;
    Tensor rates(DType::float32, {half});
    for (std::int64_t i = 0; i < half; ++i)
      rates.mutable_data<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(std::pow(kRotaryBase, -static_cast<double>(i) / static_cast<double>(half)));
    const Value angles = cast(position_, DType::float32) * g.constant(rates);
    cos_ = cos(angles);
    sin_ = sin(angles);
    place_ = broadcast_to(position_, {1, sizes.key_heads, 1});
    lengths_ = reshape(position_ + 1, {1});
  }

  Decoder build() {
    Value x = gather(variable("embedding", {sizes_.vocabulary, sizes_.width}, 1), token_);
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      const Scope layer = g_.name("layer" + std::to_string(i));
      x = x + attend(norm(x, "attention_norm"));
      x = x + feed_forward(norm(x, "feed_forward_norm"));
    }
    const Value logits = product(factor(norm(x, "norm")), "head", sizes_.width, sizes_.vocabulary);
    updates_.push_back(assign(token_, argmax(logits)));
    updates_.push_back(assign_add(position_, 1));
    return {logits, updates_};
  }

 private:
  /// The left factor of a product: numbers, or integers that are to be multiplied by `scale`.
  struct Factor {
    Value numbers, scale;
  };

  Value variable(std::string_view name, const Ints& sizes, double limit) {
    return g_.variable(name, uniform(g_, Shape(std::span<const std::int64_t>(sizes)), -limit, limit));
  }

  Value norm(const Value& x, std::string_view name) {
    return rms_norm(x, g_.variable(name, uniform(g_, {sizes_.width}, 0.5, 1.5)), {-1}, kNormEpsilon);
  }

  [[nodiscard]] Factor factor(const Value& x) const {
    if (weights_ == Weights::float32) return {x, {}};
    const Value scale = max(abs(x)) / 127;
    return {quantize(x, scale, {}, DType::int8), scale};
  }

  Value product(const Factor& x, const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    const double limit = std::sqrt(3 / static_cast<double>(inputs));  // keeps the variance
    if (weights_ == Weights::float32) return matmul(x.numbers, variable(name, {inputs, outputs}, limit));
    const Value matrix = g_.variable(name, cast(uniform(g_, {inputs, outputs}, -128, 128), DType::int8));
    const Value scales = g_.variable(name + "_scales", uniform(g_, {outputs}, 0.5, 1.5) * (limit / 127));
    return cast(matmul_integer(x.numbers, matrix), DType::float32) * (scales * x.scale);
  }

  Value attend(const Value& x) {
    const std::int64_t size = sizes_.head(), heads = sizes_.heads, key_heads = sizes_.key_heads;
    const Value all = product(factor(x), "queries_keys_values", sizes_.width, (heads + 2 * key_heads) * size);
    const Values parts = split(reshape(all, {heads + 2 * key_heads, size}), 0, {heads + key_heads, key_heads});
    const Value turned = rotary_embedding(parts[0], cos_, sin_);
    const Value queries = reshape(slice(turned, 0, 0, heads), {1, heads, 1, size});
    const Value keys = remember("keys", slice(turned, 0, heads)), values = remember("values", parts[1]);
    const Value seen = attention(queries, keys, values, {.lengths = lengths_}).y;
    return product(factor(reshape(seen, {heads * size})), "joined", heads * size, sizes_.width);
  }

  /// Writes a row for each key head, [key heads,size], to a cache. Returns the cache.
  Value remember(std::string_view name, const Value& rows) {
    const Value zeros =
        broadcast_to(g_.constant(0, DType::float32), {1, sizes_.key_heads, sizes_.positions, sizes_.head()});
    const Value cache = g_.variable(name, zeros);
    const Value next = scatter_nd(cache, place_, reshape(rows, {1, sizes_.key_heads, sizes_.head()}), 2);
    updates_.push_back(assign(cache, next));
    return next;
  }

  Value feed_forward(const Value& x) {
    const std::int64_t hidden = sizes_.hidden;
    const Values both = split(product(factor(x), "gate_up", sizes_.width, 2 * hidden), 0, {hidden, hidden});
    return product(factor(swish(both[0]) * both[1]), "down", hidden, sizes_.width);
  }

  Graph& g_;
  const DecoderSizes& sizes_;
  const Weights weights_;
  const Value token_, position_;
  Value cos_, sin_;
  Value place_;    ///< for each key head, the position
  Value lengths_;  ///< [1]: the number of valid keys
  Values updates_;
};

}  // namespace

Decoder decoder(Graph& g, const DecoderSizes& sizes, Weights weights, std::int64_t position) {
  return Step(g, sizes, weights, position).build();
}

void save_decoder(const std::string& file, Weights weights) {
  Graph g;
  for (const Value& update : decoder(g, {}, weights, 64).updates) g.target("decode", update);
  save_graph(g, file);
}

}  // namespace ferry::bench
