// Sessions that prove a plan against its graph before they run it.
#include <doctest/doctest.h>

#include "executor/session/session.hpp"
#include "ops/math/math.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/has.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

Cluster tasks(int count) {
  return Cluster::connect({.tasks = count, .threads = 1, .transport = "inproc"});
}

/// y = a - b, with b on the second of two tasks.
struct Difference {
  Graph g;
  Value a = g.input("a", {2}), b, y;
  Cluster cluster = tasks(2);
  Plan plan;

  Difference() {
    {
      auto there = g.device("/task:1");
      b = g.input("b", {2});
    }
    y = a - b;
    const Type type{DType::float32, {2}};
    plan = Session(g, cluster).plan({.fetches = {y}, .feed_types = {{"a", type}, {"b", type}}}).plan;
  }
};

TEST_CASE("a session runs a plan that is proved to compute its graph") {
  const Difference d;
  Session session(d.plan, d.g, {.fetches = {d.y}}, d.cluster);
  const TensorMap feeds{{"a", Tensor::of<float>({2}, {3, 4})}, {"b", Tensor::of<float>({2}, {1, 1})}};
  CHECK(session.run({.feeds = feeds})[0].str() == "[2 3]");
}

TEST_CASE("a session refuses a plan of another graph or request") {
  Difference d;
  const auto refusal = [&](const Graph& graph, const RunRequest& request) {
    const Error error = error_of([&] { const Session session(d.plan, graph, request, d.cluster); });
    CHECK(error.code() == Code::plan);
    CHECK(has(error.text(), "the plan does not compute what the graph says: "));
    return error.text();
  };
  CHECK(has(refusal(d.g, {.fetches = {d.y, d.a}}), "the plan fetches sub; the request fetches sub, a"));
  Graph other;
  const Value a = other.input("a", {2}), b = other.input("b", {2});
  CHECK(has(refusal(other, {.fetches = {(b - a).named("sub")}}), "the plan has Sub(a, b), not Sub(b, a)"));
  Graph unlike;
  static_cast<void>(unlike.input("a", DType::float64, {2}));
  const Value z = unlike.input("b", {2});
  CHECK(has(refusal(unlike, {.fetches = {z * 2.0}}), "the feed 'a' is float32[2], in the graph float64[2]"));
  Graph fewer;
  const Value only = fewer.input("a", {2});
  CHECK(has(refusal(fewer, {.fetches = {only * 2.0}}), "the graph has no input 'b'"));
}

TEST_CASE("a session that is made from a plan alone compares nothing") {
  const Difference d;
  Session session(d.plan, d.cluster);
  CHECK(error_of([&] { static_cast<void>(session.compare({.fetches = {d.y}}, d.plan)); }).code() == Code::usage);
}

}  // namespace
}  // namespace ferry::test
