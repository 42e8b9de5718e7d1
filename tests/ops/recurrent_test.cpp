#include "ops/nn/recurrent.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/cell.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::some;
using Numbers = std::vector<double>;

constexpr std::int64_t kSteps = 4, kBatch = 3, kFeatures = 2, kHidden = 2;

/// The weights of a layer: layer() gives them to ferry, of_input() and of_state() compute with them by themselves.
struct Weights {
  explicit Weights(std::int64_t gates)
      : input(some({gates * kHidden, kFeatures}, 0.3)),
        state(some({gates * kHidden, kHidden}, 0.7)),
        input_bias(some({gates * kHidden}, 0.1)),
        state_bias(some({gates * kHidden}, 0.9)),
        peepholes(some({3 * kHidden}, 0.5)) {}

  [[nodiscard]] Recurrent layer(Graph& g) const {
    Recurrent layer;
    layer.input = g.constant(input);
    layer.state = g.constant(state);
    layer.input_bias = g.constant(input_bias);
    layer.state_bias = g.constant(state_bias);
    return layer;
  }
  /// Row `row` of the weights times an input (of_input) or a state (of_state), plus the bias.
  [[nodiscard]] double of_input(std::int64_t row, const Numbers& x) const {
    return input_bias.number(row) + dot(input, row, x);
  }
  [[nodiscard]] double of_state(std::int64_t row, const Numbers& h) const {
    return state_bias.number(row) + dot(state, row, h);
  }
  static double dot(const Tensor& matrix, std::int64_t row, const Numbers& x) {
    double sum = 0;
    const auto n = static_cast<std::int64_t>(x.size());
    for (std::int64_t k = 0; k < n; ++k) sum += matrix.number(row * n + k) * x[k];
    return sum;
  }

  Tensor input, state, input_bias, state_bias, peepholes;
};

double sigma(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Cell {
  Numbers h = Numbers(kHidden), c = Numbers(kHidden);
};
using Step = std::function<Cell(const Numbers& x, const Cell& state)>;

const Tensor kInput = some({kSteps, kBatch, kFeatures}, 0.2);
const Ints kLengths{4, 1, 3};

/// Compares a layer's result with `step` applied along each sequence of the batch.
void check(const Sequence& sequence, const Step& step, bool reverse, bool by_length) {
  Values asked{sequence.y, sequence.h};
  if (sequence.c.defined()) asked.push_back(sequence.c);
  const std::vector<Tensor> got = test::Evaluator(sequence.y.graph()).run(asked);
  CHECK(got[0].type().str() == "float64[4,3,2]");
  for (std::int64_t n = 0; n < kBatch; ++n) {
    Cell cell;
    const std::int64_t length = by_length ? kLengths[n] : kSteps;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const std::int64_t t = reverse ? kSteps - 1 - i : i;
      const std::int64_t at = t * kBatch + n;
      if (t < length) cell = step({kInput.number(at * 2), kInput.number(at * 2 + 1)}, cell);
      for (std::int64_t k = 0; k < kHidden; ++k)
        CHECK(got[0].number(at * kHidden + k) == doctest::Approx(t < length ? cell.h[k] : 0));
    }
    for (std::int64_t k = 0; k < kHidden; ++k) {
      CHECK(got[1].number(n * kHidden + k) == doctest::Approx(cell.h[k]));
      if (sequence.c.defined()) CHECK(got[2].number(n * kHidden + k) == doctest::Approx(cell.c[k]));
    }
  }
}

/// Ops of that kind.
int count(const Graph& g, std::string_view kind) {
  int found = 0;
  for (OpId id = 0; id < g.size(); ++id) found += g.op(id).def().name == kind;
  return found;
}

/// Calls run(g, layer) in both directions, with and without lengths, unrolled and as a loop, and compares the result
/// with `step`.
template <class Run>
void check_all(const Weights& weights, const Run& run, const Step& step) {
  for (bool reverse : {false, true})
    for (bool by_length : {false, true}) {
      Graph g;
      Recurrent layer = weights.layer(g);
      layer.reverse = reverse;
      if (by_length) layer.lengths = g.constant(Tensor::of<std::int32_t>({kBatch}, {4, 1, 3}));
      check(run(g, layer), step, reverse, by_length);
      CHECK(count(g, "While") == 0);
      layer.most_unrolled = kSteps - 1;
      check(run(g, layer), step, reverse, by_length);
      CHECK(count(g, "While") == 1);
    }
}

TEST_CASE("rnn, by the definition") {
  const Weights w(1);
  check_all(
      w, [](Graph& g, const Recurrent& layer) { return rnn(g.constant(kInput), layer); },
      [&](const Numbers& x, const Cell& state) {
        Cell next;
        for (std::int64_t k = 0; k < kHidden; ++k) next.h[k] = std::tanh(w.of_input(k, x) + w.of_state(k, state.h));
        return next;
      });
}

TEST_CASE("gru, by the definition, with the reset before and behind the product") {
  const Weights w(3);
  for (bool after : {false, true}) {
    const auto step = [&](const Numbers& x, const Cell& state) {
      Cell next;
      Numbers z, r, kept;
      for (std::int64_t k = 0; k < kHidden; ++k) {
        z.push_back(sigma(w.of_input(k, x) + w.of_state(k, state.h)));
        r.push_back(sigma(w.of_input(k + kHidden, x) + w.of_state(k + kHidden, state.h)));
        kept.push_back(r.back() * state.h[k]);
      }
      for (std::size_t k = 0; k < kHidden; ++k) {
        const auto row = static_cast<std::int64_t>(k) + 2 * kHidden;
        const double from_state = after ? r[k] * w.of_state(row, state.h) : w.of_state(row, kept);
        next.h[k] = (1 - z[k]) * std::tanh(w.of_input(row, x) + from_state) + z[k] * state.h[k];
      }
      return next;
    };
    check_all(
        w,
        [&](Graph& g, Recurrent layer) {
          layer.reset_after = after;
          return gru(g.constant(kInput), layer);
        },
        step);
  }
}

Step lstm_step(const Weights& w, bool peepholes, bool coupled) {
  return [=](const Numbers& x, const Cell& state) {
    Cell next;
    for (std::size_t k = 0; k < kHidden; ++k) {
      const auto sum = [&](std::int64_t block) {
        const auto row = static_cast<std::int64_t>(k) + block * kHidden;
        return w.of_input(row, x) + w.of_state(row, state.h);
      };
      const auto seen = [&](std::int64_t block, double c) {
        return peepholes ? w.peepholes.number(static_cast<std::int64_t>(k) + block * kHidden) * c : 0;
      };
      const double i = sigma(sum(0) + seen(0, state.c[k]));
      const double f = coupled ? 1 - i : sigma(sum(2) + seen(2, state.c[k]));
      next.c[k] = f * state.c[k] + i * std::tanh(sum(3));
      next.h[k] = sigma(sum(1) + seen(1, next.c[k])) * std::tanh(next.c[k]);
    }
    return next;
  };
}

TEST_CASE("lstm, by the definition, with peepholes and coupled gates") {
  const Weights w(4);
  for (bool peepholes : {false, true})
    for (bool coupled : {false, true})
      check_all(
          w,
          [&](Graph& g, Recurrent layer) {
            if (peepholes) layer.peepholes = g.constant(w.peepholes);
            layer.coupled = coupled;
            return lstm(g.constant(kInput), layer);
          },
          lstm_step(w, peepholes, coupled));
}

TEST_CASE("layers of no steps give no output, and the state that they begin with") {
  Graph g;
  Recurrent layer = Weights(4).layer(g);
  const Value x = g.input("x", DType::float64, {std::int64_t{0}, "n", kFeatures});
  const Tensor none(DType::float64, Ints{0, kBatch, kFeatures});
  const auto run = [&](const Sequence& sequence) {
    return test::Evaluator(g).run({sequence.y, sequence.h, sequence.c}, {{"x", none}});
  };
  const std::vector<Tensor> zeros = run(lstm(x, layer));
  CHECK(zeros[0].type().str() == "float64[0,3,2]");
  CHECK(zeros[1].str() == "[[0 0] [0 0] [0 0]]");
  layer.h = g.constant(some({kBatch, kHidden}, 0.6));
  layer.c = g.constant(some({kBatch, kHidden}, 0.1));
  const std::vector<Tensor> given = run(lstm(x, layer));
  CHECK(given[1].same_bits(some({kBatch, kHidden}, 0.6)));
  CHECK(given[2].same_bits(some({kBatch, kHidden}, 0.1)));
}

/// The layer's results and the gradients of its weights, in float32.
std::vector<Tensor> with_gradients(Graph& g, const Sequence& sequence, const Recurrent& layer) {
  const Value loss = sum(square(sequence.y)) + sum(sequence.h);
  Values asked = gradients(sequence.c.defined() ? loss + sum(sequence.c) : loss, {layer.input, layer.state});
  asked.push_back(sequence.y);
  asked.push_back(sequence.h);
  return test::Evaluator(g).run(asked);
}

/// Runs `layer_of` with weights in float32, with `gate` as activation of the gates.
template <class LayerOf>
std::vector<Tensor> run_layer(const LayerOf& layer_of, std::int64_t gates, const Activation& gate,
                              std::string_view cell, int cells) {
  constexpr std::int64_t kWide = 19;
  Graph g;
  const auto single = [&](const Ints& sizes, double seed) {
    return cast(g.constant(some(sizes, seed)), DType::float32);
  };
  Recurrent layer;
  layer.input = single({gates * kWide, kFeatures}, 0.3);
  layer.state = single({gates * kWide, kWide}, 0.7);
  layer.state_bias = single({gates * kWide}, 0.9);
  layer.h = single({kBatch, kWide}, 0.2);
  layer.reset_after = true;
  layer.gate = gate;
  const Sequence sequence = layer_of(cast(g.constant(kInput), DType::float32), layer);
  CHECK(count(g, cell) == cells);
  return with_gradients(g, sequence, layer);
}

TEST_CASE("a step is one op, with the bits of several, and so are its gradients") {
  const auto layer_of = [](auto layer) {
    return [=](const Value& x, const Recurrent& weights) { return layer(x, weights, source_location::current()); };
  };
  const Activation by_ops = [](const Value& x) { return sigmoid(x); };
  const auto check_bits = [&](const auto& layer, std::int64_t gates, std::string_view cell) {
    const std::vector<Tensor> one = run_layer(layer, gates, {}, cell, kSteps);
    const std::vector<Tensor> several = run_layer(layer, gates, by_ops, cell, 0);
    for (std::size_t i = 0; i < one.size(); ++i) {
      CAPTURE(i);
      CHECK(one[i].same_bits(several[i]));
    }
  };
  check_bits(layer_of(lstm), 4, "LSTMCell");
  check_bits(layer_of(gru), 3, "GRUCell");
}

TEST_CASE("a step with clip, peepholes, coupled gates or the reset before the product is of several ops") {
  const auto cells = [](std::int64_t gates, const auto& change, std::string_view cell) {
    Graph g;
    Recurrent layer = Weights(gates).layer(g);
    change(g, layer);
    const Value x = g.constant(kInput);
    static_cast<void>(gates == 4 ? lstm(x, layer) : gru(x, layer));
    return count(g, cell);
  };
  CHECK(cells(
            4, [](Graph&, Recurrent&) {}, "LSTMCell") == kSteps);
  CHECK(cells(
            4, [](Graph&, Recurrent& layer) { layer.clip = 1; }, "LSTMCell") == 0);
  CHECK(cells(
            4, [](Graph&, Recurrent& layer) { layer.coupled = true; }, "LSTMCell") == 0);
  CHECK(cells(
            4, [](Graph& g, Recurrent& layer) { layer.peepholes = g.constant(some({6})); }, "LSTMCell") == 0);
  CHECK(cells(
            3, [](Graph&, Recurrent& layer) { layer.reset_after = true; }, "GRUCell") == kSteps);
  CHECK(cells(
            3, [](Graph&, Recurrent&) {}, "GRUCell") == 0);
}

TEST_CASE("cells take their blocks as a dim or side by side, and refuse others") {
  Graph g;
  const Value c = g.constant(some({3, 2}));
  const Value flat = g.constant(some({3, 8})), blocks = g.input("blocks", DType::float64, {3, 4, 2});
  const Value open = g.input("open", DType::float64, {"n", 8});
  CHECK(lstm_cell(blocks, c).h.shape().str() == "[3,2]");
  CHECK(lstm_cell(open, g.input("c", DType::float64, {"n", 2})).c.shape().str() == "[n,2]");
  const std::vector<Tensor> got = test::Evaluator(g).run({lstm_cell(flat, c).h, flat, c});
  const double c1 = sigma(got[1].number(4)) * got[2].number(0) + sigma(got[1].number(0)) * std::tanh(got[1].number(6));
  CHECK(got[0].number(0) == doctest::Approx(sigma(got[1].number(2)) * std::tanh(c1)));
  CHECK(error_of([&] {
          lstm_cell(g.constant(some({3, 6})), c);
        }).find(" [3,6] is not [...,4 * hidden]\n  at recurrent") != std::string::npos);
  CHECK(error_of([&] { gru_cell(blocks, blocks, c); }).find("[3,4,2] are not [...,3,hidden]") != std::string::npos);
}

TEST_CASE("recurrent layers: states to begin with, other activations, and a bound") {
  const Weights w(1);
  Graph g;
  Recurrent layer = w.layer(g);
  layer.input_bias = layer.state_bias = Value();
  layer.h = g.constant(some({kBatch, kHidden}, 0.6));
  layer.gate = [](const Value& x) { return x * 2; };
  layer.clip = 0.1;
  const std::vector<Tensor> got = test::Evaluator(g).run({rnn(g.constant(kInput), layer).y, layer.h});
  for (std::int64_t k = 0; k < kHidden; ++k) {
    const double sum = Weights::dot(w.input, k, {kInput.number(0), kInput.number(1)}) +
                       Weights::dot(w.state, k, {got[1].number(0), got[1].number(1)});
    CHECK(got[0].number(k) == doctest::Approx(2 * std::clamp(sum, -0.1, 0.1)));
  }
}

TEST_CASE("recurrent layers refuse weights that do not fit, and steps that are not known") {
  Graph g;
  const Recurrent layer = Weights(3).layer(g);
  CHECK(error_of([&] {
          lstm(g.constant(kInput), layer);
        }).starts_with("lstm: weights of the state [6,2] are not [4 * hidden,hidden]\n  at recurrent_test.cpp:"));
  const Value open = g.input("open", DType::float64, {"steps", 3, 2});
  CHECK(error_of([&] { gru(open, layer); }).starts_with("gru: dim 0 of open [steps,3,2] must be known\n"));
  const Value batch = g.input("batch", DType::float64, {5, "n", 2});
  CHECK(gru(batch, layer).y.shape().str() == "[5,n,2]");
}

}  // namespace
}  // namespace ferry
