// Converters of RNN, GRU and LSTM.
#include "ops/nn/recurrent.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/quantize.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// The node's activations, in order. Activations with parameters take their parameters, in this order, from the lists
/// of alphas and betas.
class Activations {
 public:
  explicit Activations(Context& c)
      : names_(c.texts("activations")), alphas_(c.reals("activation_alpha")), betas_(c.reals("activation_beta")) {}

  /// Returns the next activation. Undefined if the node lists no more, or if the next one is `usual`, the default.
  Activation next(std::string_view usual) {
    if (name_ == names_.size()) return {};
    const std::string name = lower_case(names_[name_++]);
    if (name == usual) return {};
    if (name == "tanh") return [](const Value& x) { return tanh(x); };
    if (name == "sigmoid") return [](const Value& x) { return sigmoid(x); };
    if (name == "relu") return [](const Value& x) { return relu(x); };
    if (name == "softsign") return [](const Value& x) { return softsign(x); };
    if (name == "softplus") return [](const Value& x) { return softplus(x); };
    if (name == "leakyrelu") return [a = alpha(0.01)](const Value& x) { return leaky_relu(x, a); };
    if (name == "thresholdedrelu") return [a = alpha(1)](const Value& x) { return thresholded_relu(x, a); };
    if (name == "elu") return [a = alpha(1)](const Value& x) { return elu(x, a); };
    if (name == "affine") return [a = alpha(1), b = beta(0)](const Value& x) { return x * a + b; };
    if (name == "scaledtanh") return [a = alpha(1), b = beta(1)](const Value& x) { return tanh(x * b) * a; };
    if (name == "hardsigmoid") return [a = alpha(0.2), b = beta(0.5)](const Value& x) { return hard_sigmoid(x, a, b); };
    Context::fail("the activation '" + name + "' is not imported");
  }

 private:
  double alpha(double otherwise) { return take_parameter(alphas_, alpha_, otherwise); }
  double beta(double otherwise) { return take_parameter(betas_, beta_, otherwise); }
  static double take_parameter(const Floats& numbers, std::size_t& at, double otherwise) {
    return at < numbers.size() ? numbers[at++] : otherwise;
  }

  Strings names_;
  Floats alphas_, betas_;
  std::size_t name_ = 0, alpha_ = 0, beta_ = 0;
};

/// A low limit, because imported layers are rarely trained. With 16,000 steps, an LSTM is planned in 0.1 s as a loop,
/// and in 6.6 s if it is unrolled.
constexpr std::int64_t kMostUnrolled = 1 << 12;

/// x with dims 0 and 1 exchanged.
Value swap_first_dims(const Value& x) {
  return transpose(x, {1, 0, 2});
}

/// The inputs and attributes of a node with one or two directions.
class Layers {
 public:
  Layers(Context& c, std::int64_t gates, bool quantized)
      : c_(c),
        gates_(gates),
        quantized_(quantized),
        direction_(c.text("direction", "forward")),
        by_batch_(c.integer("layout", 0) != 0) {
    if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional")
      Context::fail("a direction of '" + direction_ + "'");
    const std::int64_t hidden = hidden_size();
    if (c.integer("hidden_size", hidden) != hidden)
      Context::fail("hidden_size is " + std::to_string(c.integer("hidden_size")) + ", and its weights are for " +
                    std::to_string(hidden));
    x = by_batch_ ? swap_first_dims(c.in(kX)) : c.in(kX);
    if (!c.has(kLengths)) return;
    const Tensor known = c.constant_if(kLengths);
    const std::int64_t steps = c.size(kX, by_batch_ ? 1 : 0);
    bool all = known.defined();
    for (std::int64_t i = 0; all && i < known.count(); ++i) all = known.integer(i) == steps;
    if (!all) lengths_ = c.in(kLengths);
  }
  [[nodiscard]] int directions() const { return direction_ == "bidirectional" ? 2 : 1; }

  /// The weights and options of a direction, without activations.
  [[nodiscard]] Recurrent layer(int direction) {
    Recurrent layer;
    if (quantized_) {
      layer.input = transpose(part(kWeights, direction), {1, 0});
      layer.state = transpose(part(kStateWeights, direction), {1, 0});
      layer.times_input = quantized_product(kWeights, kScale, direction);
      layer.times_state = quantized_product(kStateWeights, kStateScale, direction);
    } else {
      layer.input = part(kWeights, direction);
      layer.state = part(kStateWeights, direction);
    }
    if (c_.has(kBias)) {
      const std::int64_t hidden = hidden_size();
      check_computed("hidden", hidden, SourceLine());
      const std::int64_t rows = gates_ * hidden;
      const Values both = split(part(kBias, direction), 0, {rows, rows});
      layer.input_bias = both[0];
      layer.state_bias = both[1];
    }
    if (c_.has(kH)) layer.h = state(kH, direction);
    if (c_.has(kC)) layer.c = state(kC, direction);
    if (c_.has(kPeepholes)) layer.peepholes = part(kPeepholes, direction);
    layer.most_unrolled = kMostUnrolled;
    layer.lengths = lengths_;
    layer.reverse = direction == 1 || direction_ == "reverse";
    layer.clip = c_.real("clip", 0);
    return layer;
  }

  /// Makes the node's outputs from the outputs of its directions.
  [[nodiscard]] Outs outs(const std::vector<Sequence>& sequences) const {
    Values y, h, c;
    for (const Sequence& sequence : sequences) {
      y.push_back(expand_dims(sequence.y, {by_batch_ ? 2 : 1}));
      h.push_back(expand_dims(sequence.h, {by_batch_ ? 1 : 0}));
      if (sequence.c.defined()) c.push_back(expand_dims(sequence.c, {by_batch_ ? 1 : 0}));
    }
    const Value all = concat(y, by_batch_ ? 2 : 1);
    Values outs{by_batch_ ? transpose(all, {1, 0, 2, 3}) : all};
    outs.push_back(concat(h, by_batch_ ? 1 : 0));
    if (!c.empty()) outs.push_back(concat(c, by_batch_ ? 1 : 0));
    return outs;
  }

  Value x;

 private:
  /// The indices of inputs, which are the same in all these ops. kScale and higher are only for quantized layers.
  enum Input {
    kX,
    kWeights,
    kStateWeights,
    kBias,
    kLengths,
    kH,
    kC,
    kPeepholes,
    kScale,
    kZero,
    kStateScale,
    kStateZero
  };

  [[nodiscard]] std::int64_t hidden_size() { return c_.size(kStateWeights, quantized_ ? 1 : 2); }
  [[nodiscard]] Value part(int input, int direction) {
    return squeeze(slice(c_.in(input), 0, direction, direction + 1), {0});
  }
  /// Multiplies numbers, which it quantizes first, by the weights [directions,from,to] of a direction. The zero point
  /// of the weights is the input after their scale.
  [[nodiscard]] Activation quantized_product(int input, int scale, int direction) {
    const Value weights = part(input, direction), weights_scale = part(scale, direction);
    const Value zero = c_.has(scale + 1) ? part(scale + 1, direction) : Value();
    return [=](const Value& x) {
      const Quantized steps = dynamic_quantize(x);
      const Value sums = matmul_integer(steps.y, weights, steps.zero, zero);
      const Value scales = steps.scale * weights_scale;
      return cast(sums, scales.dtype()) * scales;
    };
  }
  [[nodiscard]] Value state(int input, int direction) {
    const int axis = by_batch_ ? 1 : 0;
    return squeeze(slice(c_.in(input), axis, direction, direction + 1), {axis});
  }

  Context& c_;
  std::int64_t gates_;
  bool quantized_;
  std::string direction_;
  bool by_batch_;
  Value lengths_;
};

/// Computes the node's outputs. For each direction, it calls run(x, layer, activations), which takes the rest of its
/// activations from `activations`.
template <class Run>
Outs in_directions(Context& c, std::int64_t gates, const Run& run, bool quantized = false) {
  Layers layers(c, gates, quantized);
  Activations activations(c);
  std::vector<Sequence> sequences;
  for (int d = 0; d < layers.directions(); ++d) {
    Recurrent layer = layers.layer(d);
    layer.gate = activations.next(gates == 1 ? "tanh" : "sigmoid");
    sequences.push_back(run(layers.x, layer, activations));
  }
  return layers.outs(sequences);
}

Outs to_rnn(Context& c) {
  return in_directions(c, 1, [](const Value& x, const Recurrent& layer, Activations&) { return rnn(x, layer); });
}

Outs to_gru(Context& c) {
  return in_directions(c, 3, [&](const Value& x, Recurrent& layer, Activations& activations) {
    layer.candidate = activations.next("tanh");
    layer.reset_after = c.integer("linear_before_reset", 0) != 0;
    return gru(x, layer);
  });
}

/// The function `run` of in_directions() for LSTM.
auto lstm_of(Context& c) {
  return [&c](const Value& x, Recurrent& layer, Activations& activations) {
    layer.candidate = activations.next("tanh");
    layer.output = activations.next("tanh");
    layer.coupled = c.integer("input_forget", 0) != 0;
    return lstm(x, layer);
  };
}

Outs to_lstm(Context& c) {
  return in_directions(c, 4, lstm_of(c));
}

/// DynamicQuantizeLSTM: quantizes all inputs together, and the state in each step, before the products.
Outs to_quantized_lstm(Context& c) {
  return in_directions(c, 4, lstm_of(c), true);
}

constexpr ConvertOp kRecurrent[] = {
    {"com.microsoft.DynamicQuantizeLSTM", 1, to_quantized_lstm},
    {"GRU", 7, to_gru},
    {"LSTM", 7, to_lstm},
    {"RNN", 7, to_rnn},
};

}  // namespace

std::span<const ConvertOp> recurrent_converters() {
  return kRecurrent;
}

}  // namespace ferry::onnx
