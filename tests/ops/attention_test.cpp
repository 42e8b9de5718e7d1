#include "ops/nn/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "ops/array/array.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::some;

constexpr double kInf = INFINITY;

double at(const Tensor& x, std::int64_t n, std::int64_t head, std::int64_t step, std::int64_t k) {
  const auto& sizes = x.sizes();
  return x.number(((n * sizes[1] + head) * sizes[2] + step) * sizes[3] + k);
}

/// Two sequences of 3 queries and 5 keys; four query heads share two heads of keys and values.
struct Heads {
  Graph g;
  Tensor q = some({2, 4, 3, 2}, 0.3), k = some({2, 2, 5, 2}, 0.7), v = some({2, 2, 5, 3}, 0.1);

  [[nodiscard]] Attended made(const Attending& attending) {
    return attention(g.constant(q), g.constant(k), g.constant(v), attending);
  }
  [[nodiscard]] Tensor run(const Value& value) const { return test::Evaluator(g).run({value})[0]; }

  /// Compares attention with its definition, where scores are first capped (if softcap > 0) and then
  /// bias(sequence, query, key) is added.
  template <class Bias>
  void check(const Attending& attending, double scale, double softcap, const Bias& bias) {
    const Tensor y = run(made(attending).y);
    REQUIRE(y.type().str() == "float64[2,4,3,3]");
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t head = 0; head < 4; ++head)
        for (std::int64_t i = 0; i < 3; ++i) {
          double total = 0, sums[3] = {};
          for (std::int64_t j = 0; j < 5; ++j) {
            double score = 0;
            for (std::int64_t d = 0; d < 2; ++d) score += at(q, n, head, i, d) * at(k, n, head / 2, j, d) * scale;
            if (softcap > 0) score = softcap * std::tanh(score / softcap);
            const double weight = std::exp(score + bias(n, i, j));
            total += weight;
            for (std::int64_t d = 0; d < 3; ++d) sums[d] += weight * at(v, n, head / 2, j, d);
          }
          for (std::int64_t d = 0; d < 3; ++d)
            CHECK(at(y, n, head, i, d) == doctest::Approx(total == 0 ? 0 : sums[d] / total));
        }
  }
};

using I = std::int64_t;

TEST_CASE_FIXTURE(Heads, "attention: all keys, scales and bounds") {
  const auto none = [](I, I, I) { return 0.0; };
  check({}, 1 / std::sqrt(2.0), 0, none);
  check({.scale = 3}, 3, 0, none);
  check({.scale = 3, .mask = g.constant(0.5, DType::float64)}, 3, 0, none);  // adds the same to all scores
  check({.scale = 3, .softcap = 0.5}, 3, 0.5, none);
}

TEST_CASE_FIXTURE(Heads, "attention: causal, in windows, and behind keys of before") {
  check({.scale = 1, .causal = true}, 1, 0, [](I, I i, I j) { return j <= i ? 0 : -kInf; });
  check({.scale = 1, .causal = true, .offset = 2}, 1, 0, [](I, I i, I j) { return j <= i + 2 ? 0 : -kInf; });
  check({.scale = 1, .left = 1, .right = 1}, 1, 0, [](I, I i, I j) { return std::abs(i - j) <= 1 ? 0 : -kInf; });
  check({.scale = 1, .causal = true, .left = 2, .offset = 1}, 1, 0,
        [](I, I i, I j) { return j <= i + 1 && j >= i - 1 ? 0 : -kInf; });
}

TEST_CASE_FIXTURE(Heads, "attention: masks of truths and of numbers; shorter ones see no more keys") {
  const Value numbers = g.constant(some({3, 5}, 0.9));
  const Tensor added = some({3, 5}, 0.9);
  check({.scale = 1, .mask = numbers}, 1, 0, [&](I, I i, I j) { return added.number(i * 5 + j); });
  const Value truths = g.constant(Tensor::of<bool>({2, 1, 1, 3}, {true, false, true, false, true, true}));
  const auto is_seen = [](I n, I j) { return (n == 0 && (j == 0 || j == 2)) || (n == 1 && (j == 1 || j == 2)); };
  check({.scale = 1, .mask = truths}, 1, 0, [&](I n, I, I j) { return is_seen(n, j) ? 0 : -kInf; });
  // The first query of the second sequence sees nothing.
  check({.scale = 1, .causal = true, .mask = truths}, 1, 0,
        [&](I n, I i, I j) { return is_seen(n, j) && j <= i ? 0 : -kInf; });
}

TEST_CASE_FIXTURE(Heads, "attention: sequences of different lengths, whose last keys are the queries'") {
  const Value lengths = g.constant(Tensor::of<std::int64_t>({2}, {4, 2}));
  const auto length = [](I n) { return n == 0 ? 4 : 2; };
  check({.scale = 1, .lengths = lengths}, 1, 0, [&](I n, I, I j) { return j < length(n) ? 0 : -kInf; });
  check({.scale = 1, .causal = true, .lengths = lengths}, 1, 0,
        [&](I n, I i, I j) { return j < length(n) && j <= i + length(n) - 3 ? 0 : -kInf; });
}

TEST_CASE_FIXTURE(Heads, "attention: scores on the way, and sizes that do not fit") {
  const Attended all = made({.scale = 2, .softcap = 1, .causal = true});
  const Tensor scores = run(all.scores), capped = run(all.capped), biased = run(all.biased);
  const Tensor probabilities = run(all.probabilities);
  CHECK(capped.number(1) == doctest::Approx(std::tanh(scores.number(1))));
  CHECK(biased.number(0) == capped.number(0));
  CHECK(biased.number(1) == -kInf);
  CHECK(probabilities.number(0) == 1);
  CHECK(probabilities.number(1) == 0);
  const Value open = g.input("open", DType::float64, {"n", 4, 3, 2});
  CHECK(attention(open, g.input("k", DType::float64, {"n", 2, 5, 2}), g.input("v", DType::float64, {"n", 2, 5, 3}))
            .y.shape()
            .str() == "[n,4,3,3]");
  CHECK(error_of([&] {
          attention(g.constant(q), g.constant(v), g.constant(v));
        }).find("do not fit\n  at attention_test.cpp:") != std::string::npos);
}

TEST_CASE("rotary_embedding turns pairs of the first elements") {
  Graph g;
  const Value x = g.constant(Tensor::of<double>({1, 5}, {1, 2, 3, 4, 5}));
  const Value cos = g.constant(Tensor::of<double>({2}, {0, 1})), sin = g.constant(Tensor::of<double>({2}, {1, 0}));
  CHECK(test::Evaluator(g).run({rotary_embedding(x, cos, sin)})[0].str() == "[[-3 2 1 4 5]]");
  CHECK(test::Evaluator(g).run({rotary_embedding(x, cos, sin, true)})[0].str() == "[[-2 1 3 4 5]]");
  CHECK(test::Evaluator(g).run({rotary_embedding(slice(x, -1, 0, 4), cos, sin, true)})[0].str() == "[[-2 1 3 4]]");
  CHECK(error_of([&] { rotary_embedding(cos, cos, sin); }).starts_with("rotary_embedding: 2 angles for 2 elements of"));
}

TEST_CASE("linear_attention, by the definition: with and without decay and the delta rule") {
  const Tensor q = some({2, 4, 3, 2}, 0.3), k = some({2, 2, 3, 2}, 0.7), v = some({2, 2, 3, 3}, 0.1);
  const Tensor first = some({2, 2, 2, 3}, 0.2), decay = some({2, 2, 3, 2}, 0.6), beta = some({2, 1, 3, 1}, 0.8);
  for (int rules = 0; rules < 8; ++rules) {
    const bool decays = (rules & 1) != 0, corrects = (rules & 2) != 0, begins = (rules & 4) != 0;
    CAPTURE(rules);
    Graph g;
    Remembering remembering;
    remembering.scale = 0.5;
    if (begins) remembering.state = g.constant(first);
    if (decays) remembering.decay = g.constant(decay);
    if (corrects) remembering.beta = g.constant(beta);
    const Remembered made = linear_attention(g.constant(q), g.constant(k), g.constant(v), remembering);
    const std::vector<Tensor> got = test::Evaluator(g).run({made.y, made.state});
    for (I n = 0; n < 2; ++n)
      for (I head = 0; head < 2; ++head)
        for (I m = 0; m < 3; ++m) {
          double state[2] = {};
          for (I d = 0; d < 2; ++d) state[d] = begins ? at(first, n, head, d, m) : 0;
          for (I t = 0; t < 3; ++t) {
            double value = at(v, n, head, t, m);
            for (I d = 0; d < 2; ++d) {
              if (decays) state[d] *= std::exp(at(decay, n, head, t, d));
              if (corrects) value -= state[d] * at(k, n, head, t, d);
            }
            if (corrects) value *= at(beta, n, 0, t, 0);
            for (I d = 0; d < 2; ++d) state[d] += at(k, n, head, t, d) * value;
            for (I shared = 2 * head; shared < 2 * head + 2; ++shared) {
              const double read = at(q, n, shared, t, 0) * state[0] + at(q, n, shared, t, 1) * state[1];
              CHECK(at(got[0], n, shared, t, m) == doctest::Approx(read / 2));
            }
          }
          for (I d = 0; d < 2; ++d) CHECK(at(got[1], n, head, d, m) == doctest::Approx(state[d]));
        }
  }
}

}  // namespace
}  // namespace ferry
