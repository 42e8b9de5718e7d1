#include "ops/nn/recurrent.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ops/math/math.hpp"
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
    for (std::int64_t k = 0; k < n; ++k) sum += matrix.number(row * n + k) * x[static_cast<std::size_t>(k)];
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
    const std::int64_t length = by_length ? kLengths[static_cast<std::size_t>(n)] : kSteps;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const std::int64_t t = reverse ? kSteps - 1 - i : i;
      const std::int64_t at = t * kBatch + n;
      if (t < length) cell = step({kInput.number(at * 2), kInput.number(at * 2 + 1)}, cell);
      for (std::int64_t k = 0; k < kHidden; ++k)
        CHECK(got[0].number(at * kHidden + k) == doctest::Approx(t < length ? cell.h[static_cast<std::size_t>(k)] : 0));
    }
    for (std::int64_t k = 0; k < kHidden; ++k) {
      CHECK(got[1].number(n * kHidden + k) == doctest::Approx(cell.h[static_cast<std::size_t>(k)]));
      if (sequence.c.defined())
        CHECK(got[2].number(n * kHidden + k) == doctest::Approx(cell.c[static_cast<std::size_t>(k)]));
    }
  }
}

/// Calls run(g, layer) in both directions, with and without lengths, and compares the result with `step`.
template <class Run>
void check_all(const Weights& weights, const Run& run, const Step& step) {
  for (bool reverse : {false, true})
    for (bool by_length : {false, true}) {
      Graph g;
      Recurrent layer = weights.layer(g);
      layer.reverse = reverse;
      if (by_length) layer.lengths = g.constant(Tensor::of<std::int32_t>({kBatch}, {4, 1, 3}));
      check(run(g, layer), step, reverse, by_length);
    }
}

TEST_CASE("rnn, by the definition") {
  const Weights w(1);
  check_all(
      w, [](Graph& g, const Recurrent& layer) { return rnn(g.constant(kInput), layer); },
      [&](const Numbers& x, const Cell& state) {
        Cell next;
        for (std::int64_t k = 0; k < kHidden; ++k)
          next.h[static_cast<std::size_t>(k)] = std::tanh(w.of_input(k, x) + w.of_state(k, state.h));
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
        kept.push_back(r.back() * state.h[static_cast<std::size_t>(k)]);
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
  const Value endless = g.input("endless", DType::float64, {70000, 3, 2});
  CHECK(error_of([&] { gru(endless, layer); }).find("with 1 to 65536 steps") != std::string::npos);
  const Value batch = g.input("batch", DType::float64, {5, "n", 2});
  CHECK(gru(batch, layer).y.shape().str() == "[5,n,2]");
}

}  // namespace
}  // namespace ferry
