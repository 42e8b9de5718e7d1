// Graph::remade(), ferry's activation checkpointing: values that the backward pass computes again.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "plan/verify/verify.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using test::call;

std::ptrdiff_t count(const Graph& g, std::string_view type) {
  std::ptrdiff_t found = 0;
  for (OpId id = 0; id < g.size(); ++id) found += g.op(id).def().name == type ? 1 : 0;
  return found;
}

/// Three layers with noise, a print and a branch, each in a remade() scope of its own if `remade`. Gives the loss and
/// its gradient.
Values network(Graph& g, bool remade) {
  const Value w = g.variable("w", normal(g, {3, 3}, 0, 1));
  Value y = uniform(g, {4, 3}, -1, 1);
  for (int layer = 0; layer < 3; ++layer) {
    std::optional<Scope> part;
    if (remade) part.emplace(g.remade());
    const Value h = print(tanh(matmul(y, w)) + uniform(g, {4, 3}, 0, 1), "h");
    y = cond(
        less(sum(h), 100.0), [&] { return Values{sigmoid(h) * h}; }, [&] { return Values{h * 1.0}; })[0];
  }
  const Value loss = mean(square(y));
  return {loss, gradients(loss, {w})[0]};
}

TEST_CASE("remade values have the bits of those that are kept, random ones and branches too") {
  Graph kept, again;
  const Values wanted = network(kept, false), made = network(again, true);
  test::Evaluator first(kept), second(again);
  const auto expected = first.run(wanted), found = second.run(made);
  CHECK(expected[0].number(0) != 0);
  for (std::int64_t i = 0; i < expected[1].count(); ++i) CHECK(found[1].number(i) == expected[1].number(i));
  CHECK(count(again, "RandomUniform") > count(kept, "RandomUniform"));
  CHECK(count(again, "Print") == count(kept, "Print"));
  CHECK(count(again, "Variable") == 1);
}

TEST_CASE("each remade part begins with what comes into it") {
  Graph g;
  const Value x = g.input("x", DType::float32, {4, 3});
  const Value w = g.input("w", DType::float32, {3, 3});
  Value y = x;
  for (int layer = 0; layer < 2; ++layer) {
    auto part = g.remade();
    y = tanh(matmul(y, w));
  }
  const Value loss = sum(y * 2.0);
  CHECK(count(g, "Tanh") == 2);
  static_cast<void>(gradients(loss, {w}));
  CHECK(count(g, "Tanh") == 4);
  std::vector<std::string> copies;
  for (OpId id = 0; id < g.size(); ++id)
    if (g.op(id).def().name == "Tanh" && g.op(id).name().starts_with("grad/"))
      copies.push_back(call(g.value(g.op(g.producer(g.op(id).inputs()[0])).output(0))));
  CHECK(copies == std::vector<std::string>{"MatMul(tanh, w)", "MatMul(x, w)"});  // the last part's copy is first
}

TEST_CASE("branches outside read what was made again") {
  const auto gradient = [](bool remade) {
    Graph g;
    const Value x = g.constant({0.5, -1.0, 2.0});
    Value h;
    {
      std::optional<Scope> part;
      if (remade) part.emplace(g.remade());
      h = tanh(x);
    }
    const Value y = cond(
        less(sum(x), 9.0), [&] { return Values{h * h}; }, [&] { return Values{exp(h)}; })[0];
    const Value dx = gradients(sum(y), {x})[0];
    CHECK(count(g, "Tanh") == (remade ? 2 : 1));
    return test::Evaluator(g).run({dx})[0];
  };
  const Tensor kept = gradient(false), again = gradient(true);
  CHECK(kept.number(0) != 0);
  for (std::int64_t i = 0; i < kept.count(); ++i) CHECK(again.number(i) == kept.number(i));
}

TEST_CASE("what nobody reads in the backward pass is not made again") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  Value y;
  {
    auto part = g.remade();
    y = exp(x) + x;
  }
  static_cast<void>(gradients(sum(y), {x}));
  CHECK(count(g, "Exp") == 2);  // the gradient of exp(x) needs exp(x)
  CHECK(count(g, "Add") == 2);  // y, whose gradient needs only its sizes, and the sum of both terms' gradients
}

TEST_CASE("an image of which pooling's gradient wants the sizes is not made again") {
  Graph g;
  const Value image = g.input("image", DType::float32, {1, 1, 4, 4});
  Value y;
  {
    auto part = g.remade();
    y = avg_pool2d(image * 3.0, {2, 2}, {});
  }
  static_cast<void>(gradients(sum(y), {image}));
  CHECK(count(g, "Mul") == 2);  // one forwards, one backwards
}

/// Four layers whose weights are split over the tasks and gathered where they are used.
Plan cut_weights(bool remade, int tasks) {
  constexpr std::int64_t kWidth = 64;
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  Value y = uniform(g, {4 * tasks, kWidth}, -1, 1).laid({split(0)});
  Values weights, updates;
  for (int layer = 0; layer < 4; ++layer) {
    weights.push_back(g.variable("w" + std::to_string(layer), normal(g, {kWidth, kWidth}, 0, 0.1)).laid({split(0)}));
    std::optional<Scope> part;
    if (remade) part.emplace(g.remade());
    y = tanh(matmul(y, identity(weights.back()).laid({replicated()})));
  }
  const Values gradient = gradients(mean(square(y)), weights);
  for (std::size_t i = 0; i < weights.size(); ++i)
    updates.push_back(assign(weights[i], weights[i] - identity(gradient[i]).laid({split(0)}) * 0.1));
  return test::planned(g, {}, tasks, updates);
}

std::ptrdiff_t gathers(const Plan& plan) {
  return std::ranges::count_if(plan.collectives, [&](const Collective& collective) {
    return plan.schedules[collective.schedule].kind == CollectiveKind::all_gather;
  });
}

TEST_CASE("weights that are gathered again cost half as many bytes more") {
  for (const int tasks : {2, 4}) {
    CAPTURE(tasks);
    const Plan kept = cut_weights(false, tasks), again = cut_weights(true, tasks);
    REQUIRE(verify(again).pass);
    CHECK(gathers(kept) == 4);
    CHECK(gathers(again) == 8);
    const std::int64_t weights = 4 * 64 * 64 * 4;
    CHECK(traffic_of(kept, 1, 1).sent_bytes == 2 * (tasks - 1) * weights / tasks);
    CHECK(traffic_of(again, 1, 1).sent_bytes == 3 * (tasks - 1) * weights / tasks);
  }
}

TEST_CASE("what is made again is not kept") {
  constexpr std::int64_t kRows = 1000, kLayers = 8;
  const auto bytes = [](bool remade) {
    Graph g;
    const Value w = g.variable("w", normal(g, {3, 3}, 0, 1));
    Value y = uniform(g, {kRows, 3}, -1, 1);
    for (int layer = 0; layer < kLayers; ++layer) {
      std::optional<Scope> part;
      if (remade && layer % 2 == 0) part.emplace(g.remade());
      y = tanh(matmul(y, w));
    }
    const Value loss = sum(y);
    return test::planned(g, {gradients(loss, {w})[0]}, 1).classes[0].devices[0].step_bytes;
  };
  CHECK(bytes(true) + (kLayers / 2 - 1) * kRows * 3 * 4 <= bytes(false));
}

}  // namespace
}  // namespace ferry
