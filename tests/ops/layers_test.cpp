// Layers of networks: their variables, their computation beyond the ops that they are made of, and their gradients.
#include "ops/nn/layers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "graph/op/core_ops.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"
#include "plan/verify/verify.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using nn::Phase;
using test::error_of;
using test::Evaluator;
using test::numbers;

std::vector<std::string> names_of(const Values& variables) {
  std::vector<std::string> names;
  for (const Value& variable : variables) names.push_back(variable.name() + " " + variable.type().str());
  return names;
}

TEST_CASE("a layer's variables have its name, the parameters' dtype and the line of the call") {
  using Names = std::vector<std::string>;
  Graph g;
  const auto outer = g.name("net");
  nn::Parameters p(g, DType::float64);
  const int line = __LINE__ + 1;
  const nn::Dense dense(p, "dense", 3, 5);
  CHECK(names_of(p.trained()) == Names{"net/dense/weights float64[3,5]", "net/dense/bias float64[5]"});
  CHECK(dense.weights.op().line().line == line);
  CHECK(g.value(dense.weights.op().inputs()[0]).op().line().line == line);
  nn::Parameters q(g);
  const nn::Conv conv(q, "conv", 4, 6, {3, 5}, {.groups = 2, .bias = false});
  CHECK(names_of(q.trained()) == Names{"net/conv/weights float32[6,2,3,5]"});
  nn::Parameters r(g);
  const nn::BatchNorm norm(r, "norm", 4);
  CHECK(names_of(r.trained()) == Names{"net/norm/scale float32[4]", "net/norm/offset float32[4]"});
  CHECK(norm.variance.name() == "net/norm/variance");
  nn::Parameters s(g);
  const nn::Attention attention(s, "attention", 8, 2);
  const nn::Lstm lstm(s, "lstm", 3, 2);
  const nn::Embedding embedding(s, "embedding", 10, 4);
  CHECK(names_of(s.trained()).size() == 8);
  CHECK(attention.out.type().str() == "float32[2,4,8]");
  CHECK(lstm.state.type().str() == "float32[8,2]");
}

TEST_CASE("what does not fit is said with the layer's name and the caller's line") {
  Graph g;
  nn::Parameters p(g);
  CHECK(error_of([&] { nn::Dense(p, "dense", 0, 3); }).starts_with("dense: a size of 0\n  at layers_test.cpp:"));
  CHECK(error_of([&] {
          nn::Conv(p, "conv", 3, 4, {3, 3}, {.groups = 2});
        }).starts_with("conv: 3 and 4 channels in 2 groups\n"));
  CHECK(error_of([&] { nn::Attention(p, "a", 6, 4); }).starts_with("a: a width of 6 in 4 heads\n"));
  const nn::Dense dense(p, "fine", 2, 3);
  CHECK(error_of([&] { nn::Dense(p, "fine", 2, 3); }).find("'fine/weights' is taken") != std::string::npos);
  const Value x = g.input("x", DType::float32, {"n", 4});
  CHECK(error_of([&] { dense(x); }).find("at layers_test.cpp:") != std::string::npos);
  CHECK(error_of([&] { nn::dropout(x, 1, Phase::train); }).starts_with("dropout: a rate of 1"));
  CHECK(error_of([&] { nn::flatten(g.input("y", DType::float32, {2, "n"})); }).starts_with("flatten: y [2,n]"));
  CHECK(error_of([&] { nn::mean_pool(x); }).starts_with("mean_pool: x [n,4] has no images\n"));
}

/// Mean and mean square of the initial value of a variable with 200 x 200 elements.
std::pair<double, double> moments(const nn::Initializer& initializer, std::int64_t inputs, std::int64_t outputs) {
  Graph g;
  nn::Parameters p(g, DType::float64);
  const Value w = p.add("l", "w", initializer, {.inputs = inputs, .outputs = outputs, .shape = {200, 200}});
  const auto found = Evaluator(g).run({mean(w), mean(square(w))});
  return {found[0].number(0), found[1].number(0)};
}

TEST_CASE("variables begin with the variance that their initializer says") {
  for (const auto& [initializer, variance] :
       {std::pair(nn::he(), 2.0 / 50), std::pair(nn::xavier(), 2.0 / (50 + 30)), std::pair(nn::gaussian(0.3), 0.09)}) {
    const auto [average, squares] = moments(initializer, 50, 30);
    CHECK(std::abs(average) < 0.01);
    CHECK(squares == doctest::Approx(variance).epsilon(0.03));
  }
  const auto [average, squares] = moments(nn::constant(3), 1, 1);
  CHECK(average == 3);
  CHECK(squares == 9);
}

/// Checks the gradients of a loss of `network` with respect to its variables and x against finite differences.
void check_gradients(std::vector<std::int64_t> sizes,
                     const std::function<Value(nn::Parameters&, const Value& x)>& network) {
  Graph g;
  nn::Parameters p(g, DType::float64);
  const Value x = g.variable("x", g.constant(numbers(std::move(sizes))));
  const Value y = network(p, x);
  const Value loss = sum(square(y) * g.constant(numbers(y.shape().sizes())));
  Values all = p.trained();
  all.push_back(x);
  const Values slopes = gradients(loss, all);
  Evaluator evaluator(g);
  const auto found = evaluator.run(slopes);
  for (std::size_t v = 0; v < all.size(); ++v) {
    CAPTURE(all[v].name());
    Tensor& values = evaluator.variables.at(all[v].name());
    for (std::int64_t i = 0; i < values.count(); i += 1 + values.count() / 7) {
      const Tensor kept = values;
      const auto loss_at = [&](double shift) {
        Tensor moved = Tensor::of<double>(kept.sizes(), {kept.data<double>().begin(), kept.data<double>().end()});
        moved.mutable_data<double>()[i] += shift;
        evaluator.variables.at(all[v].name()) = moved;
        evaluator.step = 0;
        return evaluator.run({loss})[0].number(0);
      };
      constexpr double kStep = 1e-6;
      const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      evaluator.variables.at(all[v].name()) = kept;
      CHECK(std::abs(found[v].number(i) - slope) <= 2e-6 * (1 + std::abs(slope)));
    }
  }
}

TEST_CASE("gradients flow through all layers") {
  check_gradients({4, 3}, [](nn::Parameters& p, const Value& x) {
    return nn::Dense(p, "b", 5, 2, {.bias = false})(tanh(nn::Dense(p, "a", 3, 5)(x)));
  });
  check_gradients({2, 2, 6, 6}, [](nn::Parameters& p, const Value& x) {
    const nn::Conv conv(p, "conv", 2, 4, {3, 3}, {.sliding = {.padding = same_padding(3)}, .groups = 2});
    return nn::flatten(nn::max_pool(conv(x), {2, 2}));
  });
  check_gradients({2, 3, 4, 2}, [](nn::Parameters& p, const Value& x) {
    const nn::Conv conv(p, "conv", 3, 5, {1, 1}, {.bias = false});
    return nn::mean_pool(square(conv(x)));
  });
  check_gradients({4, 3, 2},
                  [](nn::Parameters& p, const Value& x) { return nn::BatchNorm(p, "norm", 3)(x, Phase::train); });
  check_gradients({4, 3}, [](nn::Parameters& p, const Value& x) { return nn::LayerNorm(p, "norm", 3)(x); });
  check_gradients({2, 3, 4}, [](nn::Parameters& p, const Value& x) {
    return nn::Attention(p, "attention", 4, 2)(x, {.causal = true});
  });
  check_gradients({3, 2, 4}, [](nn::Parameters& p, const Value& x) { return nn::Lstm(p, "lstm", 4, 3)(x).y; });
  check_gradients({3}, [](nn::Parameters& p, const Value& x) {
    return nn::Embedding(p, "table", 5, 3)(p.graph().constant({4, 1, 4})) * x;
  });
}

TEST_CASE("running statistics follow those of the batches, and are what is used afterwards") {
  Graph g;
  nn::Parameters p(g, DType::float64);
  const nn::BatchNorm norm(p, "norm", 2, {.momentum = 0.75, .epsilon = 0});
  const Value x = g.constant(Tensor::of<double>({2, 2}, {1, 10, 5, 30}));
  const Value trained = norm(x, Phase::train), used = norm(x, Phase::eval);
  CHECK(p.updates().size() == 2);
  Evaluator evaluator(g);
  const Tensor first = evaluator.run({trained}, {}, p.updates())[0];
  CHECK(first.number(0) == doctest::Approx(-1));
  CHECK(first.number(2) == doctest::Approx(1));
  evaluator.run({}, {}, p.updates());
  const double mean = 3 * (0.25 * 0.75 + 0.25), variance = 0.75 * 0.75 + 4 * (0.25 * 0.75 + 0.25);
  CHECK(evaluator.variables.at("norm/mean").number(0) == doctest::Approx(mean));
  CHECK(evaluator.variables.at("norm/variance").number(0) == doctest::Approx(variance));
  CHECK(evaluator.run({used})[0].number(0) == doctest::Approx((1 - mean) / std::sqrt(variance)));
}

TEST_CASE("a norm's scale begins as its options say") {
  Graph g;
  nn::Parameters p(g);
  const nn::BatchNorm zero(p, "zero", 3, {.scale = 0}), one(p, "one", 3);
  Evaluator evaluator(g);
  const auto found = evaluator.run({max(abs(zero.scale)), min(one.scale)});
  CHECK(found[0].number(0) == 0);
  CHECK(found[1].number(0) == 1);
}

TEST_CASE("means are taken over the images of each channel") {
  Graph g;
  const Value x = g.constant(Tensor::of<float>({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 60}));
  const Tensor means = Evaluator(g).run({nn::mean_pool(x)})[0];
  CHECK(means.sizes() == std::vector<std::int64_t>{1, 2});
  CHECK(means.number(0) == 2.5);
  CHECK(means.number(1) == 30);
}

TEST_CASE("dropout keeps the mean, and does nothing in use") {
  Graph g;
  const Value x = g.constant(Tensor::of<float>({20000}, std::vector<float>(20000, 1)));
  const Value dropped = nn::dropout(x, 0.25, Phase::train);
  CHECK(nn::dropout(x, 0.25, Phase::eval).is(x));
  CHECK(nn::dropout(x, 0, Phase::train).is(x));
  const Value slope = gradients(sum(dropped), {x})[0];
  const auto found = Evaluator(g).run({mean(dropped), max(dropped), min(dropped), mean(abs(dropped - slope))});
  CHECK(found[0].number(0) == doctest::Approx(1).epsilon(0.02));
  CHECK(found[1].number(0) == doctest::Approx(1 / 0.75));
  CHECK(found[2].number(0) == 0);
  CHECK(found[3].number(0) == 0);  // the gradient is 0 where the element was dropped
}

TEST_CASE("layers compute in the dtype that they are given, with gradients in their variables'") {
  Graph g;
  nn::Parameters p(g);
  const Value x = cast(g.input("x", DType::float32, {4, 2, 6, 6}), DType::bfloat16);
  const nn::Conv conv(p, "conv", 2, 3, {3, 3});
  const nn::BatchNorm norm(p, "norm", 3);
  const nn::Dense dense(p, "dense", 48, 4);
  const nn::LayerNorm last(p, "last", 4);
  const Value y = last(dense(nn::flatten(relu(norm(conv(x), Phase::train)))));
  CHECK(y.dtype() == DType::bfloat16);
  for (const Value& slope : gradients(sum(cast(y, DType::float32)), p.trained()))
    CHECK(slope.dtype() == DType::float32);
}

TEST_CASE("accuracy counts the rows whose largest logit is the label's") {
  Graph g;
  const Value logits = g.constant({{1.0, 2.0}, {3.0, 0.0}, {5.0, 5.0}, {0.0, 1.0}});
  const Value labels = g.constant(Tensor::of<std::uint8_t>({4}, {1, 1, 0, 1}));
  CHECK(Evaluator(g).run({nn::accuracy(logits, labels)})[0].number(0) == 0.75);
}

TEST_CASE("attention whose heads are split over tasks has one sum in each direction") {
  Graph g;
  const auto all = g.on(g.mesh("tp"));
  nn::Parameters p(g);
  const nn::Dense in(p, "in", 8, 8);
  const nn::Attention attention(p, "attention", 8, 4);
  for (const Value& variable : {attention.queries, attention.keys, attention.values, attention.out})
    variable.laid({split(0)});
  const Value x = in(g.constant(Tensor(DType::float32, {3, 5, 8})));
  const Value y = x + attention(x, {.causal = true});
  const Value loss = mean(square(y));
  PlanOptions options;
  options.bucket_bytes = 0;
  const Plan plan = test::planned(g, {}, 4, sgd(loss, p.trained(), 0.1), {}, options);
  CHECK(verify(plan).pass);
  CHECK(plan.channels.empty());
  CHECK(plan.collectives.size() == 2);
}

}  // namespace
}  // namespace ferry
