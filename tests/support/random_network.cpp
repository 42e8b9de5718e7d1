#include "tests/support/random_network.hpp"

#include <optional>
#include <string>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {
namespace {

/// Makes the layers of one network, one after another.
class Layers {
 public:
  Layers(Graph& graph, Dice& dice, Annotated annotated)
      : parameters_(graph), dice_(&dice), tensor_parallel_(annotated == Annotated::tensor_parallel) {}

  [[nodiscard]] const Values& trained() const { return parameters_.trained(); }

  Value perceptron(Value x) {
    x = nn::Dense(parameters_, next_name(), size_of(x, 1), width())(x);
    for (int blocks = 1 + dice_->below(4); blocks > 0; --blocks) x = two_products(x, 1 + dice_->below(4));
    return x;
  }

  /// x: [n,channels,rows,columns].
  Value convolutions(Value x) {
    for (int blocks = 1 + dice_->below(3); blocks > 0; --blocks) {
      const std::int64_t channels = 8 << dice_->below(4);
      const std::int64_t window = dice_->one_in(2) ? 3 : 5;
      const nn::Conv conv(parameters_, next_name(), size_of(x, 1), channels, {window, window},
                          {.sliding = {.padding = same_padding(window)}});
      x = nn::max_pool(relu(conv(x)), {2, 2});
    }
    return two_products(dice_->one_in(2) ? nn::mean_pool(x) : nn::flatten(x), 1);
  }

  /// characters: int32 [n,steps]. The result has a row for each character.
  Value transformer(const Value& characters) {
    const std::int64_t heads = 2 << dice_->below(3), width = heads * (8 << dice_->below(3));
    Value x = nn::Embedding(parameters_, next_name(), kCharacters, width)(characters);
    for (int blocks = 1 + dice_->below(2); blocks > 0; --blocks) {
      const nn::Attention attention(parameters_, next_name(), width, heads);
      if (tensor_parallel_)
        for (const Value& of_heads : {attention.queries, attention.keys, attention.values, attention.out})
          of_heads.laid({split(0)});
      x = x + attention(nn::LayerNorm(parameters_, next_name(), width)(x), {.causal = true});
      x = two_products(x, 4);
    }
    return reshape(x, {-1, width});
  }

  Value logits(const Value& x, std::int64_t classes) {
    return nn::Dense(parameters_, next_name(), size_of(x, 1), classes)(x);
  }

  static constexpr std::int64_t kCharacters = 64;

 private:
  static std::int64_t size_of(const Value& x, int dim) { return x.type().shape[dim].size(); }
  std::string next_name() { return "layer" + std::to_string(++layers_); }
  std::int64_t width() { return 32 << dice_->below(6); }

  /// x plus two products of its last dim; the values between are `wider` times as wide.
  Value two_products(const Value& x, std::int64_t wider) {
    const std::int64_t width = x.type().shape.sizes().back();
    const nn::Dense up(parameters_, next_name(), width, wider * width),
        down(parameters_, next_name(), wider * width, width);
    if (tensor_parallel_) {
      up.weights.laid({split(1)});
      up.bias.laid({split(0)});
      down.weights.laid({split(0)});
    }
    return x + down(relu(up(x)));
  }

  nn::Parameters parameters_;
  Dice* dice_;
  bool tensor_parallel_;
  int layers_ = 0;
};

}  // namespace

void make_network(RandomNetwork& network, std::uint64_t seed, Annotated annotated) {
  Dice dice(seed);
  Graph& g = network.graph;
  const std::optional<Scope> on_all =
      annotated == Annotated::nowhere ? std::nullopt : std::optional<Scope>(g.on(g.mesh("all")));
  const auto rows = [&](const Value& fed) {
    return annotated == Annotated::data_parallel ? identity(fed).laid({split(0)}) : fed;
  };
  Layers layers(g, dice, annotated);
  const std::int64_t n = 16 << dice.below(7);
  const int kind = dice.below(3);
  Value result;
  if (kind == 0) {
    result = layers.perceptron(rows(g.input("x", {n, 32 << dice.below(6)})));
  } else if (kind == 1) {
    const std::int64_t side = 16 << dice.below(2);
    result = layers.convolutions(rows(g.input("x", {n, 1 + 2 * dice.below(2), side, side})));
  } else {
    result = layers.transformer(rows(g.input("x", DType::int32, {n / 8, 16 << dice.below(3)})));
  }
  const std::int64_t classes = kind == 2 ? Layers::kCharacters : 10;
  const Value labels = rows(g.input("labels", DType::int32, {result.type().shape[0]}));
  network.loss = mean(softmax_cross_entropy(layers.logits(result, classes), labels));
  const int optimizer = dice.below(3);
  network.updates = optimizer == 0   ? sgd(network.loss, layers.trained(), 0.1)
                    : optimizer == 1 ? momentum(network.loss, layers.trained(), 0.1)
                                     : adam(network.loss, layers.trained(), 0.001);
}

}  // namespace ferry::test
