#include "executor/session/session.hpp"

#include <doctest/doctest.h>

#include "graph/op/core_ops.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/one_task.hpp"

namespace ferry {
namespace {

Cluster tasks(int n, int threads = 1) {
  return Cluster::connect(ClusterOptions{.tasks = n, .threads = threads, .jobs = ""});
}

TEST_CASE("c = a + b over three tasks") {
  Graph g;
  auto a = g.constant({1, 2, 3}, on("/task:0"));
  auto b = g.constant({10, 20, 30}, on("/task:1"));
  Value c;
  {
    auto here = g.device("/task:2");
    c = a + b;
  }
  const Cluster cluster = tasks(3);
  Session session(g, cluster);
  CHECK(session.run({c})[0].str() == "[11 22 33]");
  const RunStats stats = session.stats();
  REQUIRE(stats.tasks.size() == 3);
  CHECK(stats.tasks[2].measured ==
        Traffic{.sent_messages = 1, .sent_bytes = 12, .received_messages = 2, .received_bytes = 24});
  for (const TaskStats& task : stats.tasks) CHECK(task.measured == task.planned);
}

TEST_CASE("a request is written in braces, with names or as a list of fetches") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2});
  const Value y = x + 1.0, z = x * 2.0;
  Session session(g, tasks(1));
  const TensorMap feeds{{"x", Tensor::of<float>({2}, {1, 2})}};
  CHECK(session.run({.targets = {y}, .feeds = feeds}).empty());
  CHECK(session.run({.targets = {y, z}, .feeds = feeds}).empty());
  CHECK(session.run({.fetches = {y}, .feeds = feeds, .steps = 2}).size() == 1);
  CHECK(session.run({.fetches = {y, z}, .feeds = feeds})[1].str() == "[2 4]");
  CHECK(session.run({y}, feeds)[0].str() == "[2 3]");
  CHECK(session.run({y, z}, {{"x", Tensor::of<float>({2}, {3, 4})}})[1].str() == "[6 8]");
  Graph fixed;
  const Value two = fixed.constant({2.0});
  Session without_feeds(fixed, tasks(1));
  CHECK(without_feeds.run({.targets = {two}}).empty());  // one name alone was ambiguous for g++
  CHECK(without_feeds.run({.fetches = {two}}).size() == 1);
}

TEST_CASE("variables keep their values from step to step, and take new ones together at its end") {
  Graph g;
  const Value one = g.constant({1.0, 2.0});
  const Value v = g.variable("v", one);
  const Value doubled = v * 2.0;
  const Value inputs[] = {v, doubled};
  const Value update = g.add(kAssign, inputs, {}, SourceLine())[0];
  const Cluster cluster = tasks(2);
  Session session(g, cluster);
  RunRequest request;
  request.targets = {update};
  request.fetches = {v};
  request.steps = 3;
  CHECK(session.run(request)[0].str() == "[4 8]");
  CHECK(session.run({v})[0].str() == "[8 16]");
  session.restore({{"v", Tensor::of<float>({2}, {5, 6})}});
  CHECK(session.run(request)[0].str() == "[20 24]");
  CHECK(session.variables().at("v").str() == "[40 48]");
}

TEST_CASE("a variable takes another's old value through a view of it") {
  Graph g;
  const Value v = g.variable("v", g.constant({1.0, 2.0}));
  const Value w = g.variable("w", g.constant(Tensor::of<float>({1, 2}, {3, 4})));
  RunRequest request;
  request.targets = {assign(w, w * 10.0), assign(v, reshape(w, {2}))};
  const Cluster cluster = tasks(1);
  Session session(g, cluster);
  session.run(request);
  CHECK(session.variables().at("v").str() == "[3 4]");
  CHECK(session.variables().at("w").str() == "[[30 40]]");
}

TEST_CASE("a loop may hand a value through that nobody uses, beside others") {
  Graph g;
  const Value x = g.input("x", DType::float32, {64}), y = g.constant(Tensor(DType::float32, {64}));
  const Values end = while_loop(
      {g.constant(0), x * 2.0, y + 1.0}, [](const Values& v) { return v[0] < 3; },
      [](const Values& v) {
        return Values{v[0] + 1, v[1], exp(v[2]) * 0.5};
      });
  const Cluster cluster = tasks(1);
  Session session(g, cluster);
  const TensorMap feeds{{"x", Tensor(DType::float32, {64})}};
  CHECK(session.run({end[0]}, feeds)[0].str() == "3");
  const float wanted = 64 * 3.5018F;  // 0 + 1, then three times exp(v) / 2
  CHECK(session.run({sum(end[2])}, feeds)[0].data<float>()[0] == doctest::Approx(wanted).epsilon(1e-4));
  CHECK(session.run({sum(end[2]), end[1]}, feeds)[0].data<float>()[0] == doctest::Approx(wanted).epsilon(1e-4));
}

TEST_CASE("random graphs on random placements equal one task, bit for bit, and their traffic what was planned") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    CHECK(test::differs_from_one_task(seed, 4) == "");
  }
}

}  // namespace
}  // namespace ferry
