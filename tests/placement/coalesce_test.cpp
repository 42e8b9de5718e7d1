// Tests which messages between hosts become one, and that their values lie side by side at both ends.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/explain/explain.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// A graph on tasks; each task has a host of its own.
struct Given {
  explicit Given(int tasks = 2) : topology(Topology::local(tasks)) {
    for (std::size_t t = 0; t < topology.tasks.size(); ++t) topology.tasks[t].host = static_cast<std::int32_t>(t);
    auto here = graph.device("/task:0");
    x = graph.variable("x", graph.constant(Tensor(DType::float32, {4})));
  }

  /// x times a number of its own, computed on task 0.
  Value made(const std::string& name) {
    auto here = graph.device("/task:0");
    return Value(x * ++factor).named(name);
  }
  /// The sum of these values, computed on `task`.
  Value sum_on(int task, const Values& values) {
    DeviceSpec spec;
    spec.task = task;
    auto here = graph.device(spec);
    Value total = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) total = total + values[i];
    return total;
  }

  PlanResult planned() const {
    Signature signature;
    for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
    PlanResult result = make_plan(graph, signature, topology, test::AllKernels(), options);
    const Verdict verdict = verify(result.plan);
    CHECK_MESSAGE(verdict.pass, verdict.reason);
    return result;
  }

  /// Name, tasks and bytes of the messages, except those to task 0, which gets the fetches: "a and 2 more 0->1 48".
  std::string sent() const {
    const Plan plan = planned().plan;
    std::vector<std::string> messages;
    for (const Channel& channel : plan.channels)
      if (channel.to != 0)
        messages.push_back(std::string(plan.string(channel.name)) + " " + std::to_string(channel.from) + "->" +
                           std::to_string(channel.to) + " " + std::to_string(channel.bytes));
    return join(messages, ", ");
  }

  Graph graph;
  Topology topology;
  PlanOptions options;
  Value x;
  double factor = 1;
  Values fetches = {};
};

TEST_CASE("values of one source that are made before one is needed go in one message") {
  Given given;
  const Values values{given.made("a"), given.made("b"), given.made("c")};
  given.fetches = {given.sum_on(1, values)};
  CHECK(given.sent() == "a and 2 more 0->1 48");
  given.options.bucket_bytes = 0;
  CHECK(given.sent() == "a 0->1 16, b 0->1 16, c 0->1 16");
}

TEST_CASE("on one host every value has a message of its own, which is written in place") {
  Given given;
  given.topology = Topology::local(2);
  given.fetches = {given.sum_on(1, {given.made("a"), given.made("b")})};
  CHECK(given.sent() == "a 0->1 16, b 0->1 16");
}

TEST_CASE("hosts that are to count as one are one") {
  Given given;
  given.options.one_host = true;
  given.fetches = {given.sum_on(1, {given.made("a"), given.made("b")})};
  CHECK(given.sent() == "a 0->1 16, b 0->1 16");
}

TEST_CASE("a value does not wait for one that is made after it is needed") {
  Given given;
  const Value a = given.made("a"), b = given.made("b");
  const Value early = given.sum_on(1, {a, b});
  const Value c = given.made("c"), d = given.made("d");
  given.fetches = {given.sum_on(1, {early, c, d})};
  CHECK(given.sent() == "a and 1 more 0->1 32, c and 1 more 0->1 32");
}

TEST_CASE("a message has at most latency times bandwidth of the link") {
  Given given;
  Values values;
  {
    auto here = given.graph.device("/task:0");
    for (const std::int64_t width : {1000, 3000, 2000, 100, 20000, 4})
      values.push_back(Value(sum(broadcast_to(reshape(given.x, {4, 1}), {4, width}), {0}))
                           .named(std::string("of").append(std::to_string(width))));
  }
  Values totals;
  for (const Value& value : values) {
    auto here = given.graph.device("/task:1");
    totals.push_back(sum(value));
  }
  given.fetches = {given.sum_on(1, totals)};
  given.topology.between_hosts = {1e-3, 2e7};  // 20,000 bytes
  CHECK(given.sent() == "of1000 and 1 more 0->1 16000, of2000 and 2 more 0->1 8416, of20000 0->1 80000");
  given.topology.between_hosts = {1e-3, 1e9};
  CHECK(given.sent() == "of2000 and 5 more 0->1 104416");
}

TEST_CASE("values for the same receivers share a message to each, others do not") {
  Given given(3);
  const Values both{given.made("a"), given.made("b")}, one{given.made("c"), given.made("d")};
  given.fetches = {given.sum_on(1, {both[0], both[1], one[0], one[1]}), given.sum_on(2, both)};
  CHECK(given.sent() == "a and 1 more 0->1 32, a and 1 more 0->2 32, c and 1 more 0->1 32");
}

TEST_CASE("what also goes to a task of the same host goes alone") {
  Given given(3);
  given.topology.tasks[2].host = 0;
  const Values values{given.made("a"), given.made("b"), given.made("c")};
  given.fetches = {given.sum_on(1, values), given.sum_on(2, {values[0], values[0]})};
  CHECK(given.sent() == "b and 1 more 0->1 32, a 0->1 16, a 0->2 16");
}

TEST_CASE("a value does not wait for long computing") {
  Given given;
  const auto sent_around = [&](std::int64_t size) {
    Given around;
    const Value a = around.made("a");
    Value b;
    {
      auto here = around.graph.device("/task:0");
      const Value matrix = around.graph.variable("m", around.graph.constant(Tensor(DType::float32, {size, size})));
      b = Value(sum(matmul(matrix, matrix)) * around.x).named("b");
    }
    around.fetches = {around.sum_on(1, {a, b})};
    return around.sent();
  };
  CHECK(sent_around(16) == "a and 1 more 0->1 32");
  CHECK(sent_around(256) == "a 0->1 16, b 0->1 16");
}

TEST_CASE("a value does not wait for one that needs a message first") {
  Given given(3);
  Value other;
  {
    auto there = given.graph.device("/task:2");
    other = given.graph.variable("y", given.graph.constant(Tensor(DType::float32, {4}))) * 2.0;
  }
  const Value a = given.made("a"), b = Value(given.sum_on(0, {other, given.x})).named("b"), c = given.made("c");
  given.fetches = {given.sum_on(1, {a, b, c})};
  CHECK(given.sent() == "b and 1 more 0->1 32, a 0->1 16");
}

TEST_CASE("variables, what is computed once, and other dtypes go apart") {
  Given given;
  Values values{given.x, given.made("a"), given.made("b")};
  {
    auto here = given.graph.device("/task:0");
    values.push_back(given.graph.constant(Tensor(DType::float32, {4})).named("k"));
    values.push_back(cast(Value(cast(given.x, DType::int32)).named("n"), DType::float32).named("m"));
  }
  Value n;
  {
    auto here = given.graph.device("/task:0");
    n = Value(cast(given.x * 3.0, DType::int32)).named("n3");
  }
  {
    auto there = given.graph.device("/task:1");
    n = cast(n, DType::float32);
  }
  values.push_back(n);
  given.fetches = {given.sum_on(1, values)};
  CHECK(given.sent() == "a and 2 more 0->1 48, n3 0->1 16, x 0->1 16, k 0->1 16");
}

TEST_CASE("what is sent as a view lies in the message") {
  Given given;
  const Value a = given.made("a"), b = given.made("b");
  Value seen;
  {
    auto here = given.graph.device("/task:0");
    seen = reshape(a, {2, 2});
  }
  {
    auto there = given.graph.device("/task:1");
    seen = sum(seen);
  }
  given.fetches = {given.sum_on(1, {b, seen})};
  CHECK(given.sent() == "b and 1 more 0->1 32");
}

TEST_CASE("values lie side by side in one buffer at both ends, whole lines first") {
  Given given;
  const Value narrow = given.made("narrow");
  Value wide;
  {
    auto here = given.graph.device("/task:0");
    wide = Value(broadcast_to(given.x * 3.0, {8, 4}) * 2.0).named("wide");
  }
  Value total;
  {
    auto there = given.graph.device("/task:1");
    total = sum(wide + narrow);
  }
  given.fetches = {total};
  const Plan plan = given.planned().plan;
  for (const int task : {0, 1}) {
    const PlanClass& c = plan.class_for(task);
    const auto offset_of = [&](std::string_view name) {
      for (const Buffer& b : c.buffers)
        if (plan.string(b.name) == name && b.view_of != kNone) return b.offset - c.buffers[b.view_of].offset;
      return ~std::uint64_t{0};
    };
    CHECK(offset_of("wide") == 0);
    CHECK(offset_of("narrow") == 128);
  }
  CHECK(traffic_of(plan, 0, 1).sent_messages == 1);
  CHECK(traffic_of(plan, 0, 1).sent_bytes == 144);
  CHECK(traffic_of(plan, 0, 1).copies == 0);
}

TEST_CASE("explain says with what a value shares a message") {
  Given given;
  given.options.reasons = true;
  given.fetches = {given.sum_on(1, {given.made("a"), given.made("b"), given.made("c")})};
  const std::string text = explain(given.planned(), "b");
  CHECK_MESSAGE(text.find("in one message with a at ") != std::string::npos, text);
}

}  // namespace
}  // namespace ferry
