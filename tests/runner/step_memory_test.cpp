#include "runner/report/step_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/device.hpp"
#include "ops/control/control.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

constexpr std::string_view kPlan = "7";

/// A step of task 0 by kPlan in which each instruction takes 10 ns, one after another.
TracedRun traced(const std::vector<std::string>& names) {
  TracedRun run;
  run.strings.emplace_back("step 0");
  std::int64_t now = 100;
  for (const std::string& name : names) {
    run.strings.push_back(name);
    TracedEvent event;
    event.begin = now;
    event.end = now += 10;
    event.name = static_cast<std::uint32_t>(run.strings.size() - 1);
    run.events.push_back(event);
  }
  run.steps.push_back({0, 100, now, 1, std::string(kPlan)});
  return run;
}

MemoryCurve curve_of(const StepMemory& memory, const std::vector<std::string>& names) {
  const auto curve = memory_curve(memory, traced(names), std::string(kPlan));
  REQUIRE(curve.has_value());
  return *curve;
}

std::uint64_t most(const MemoryCurve& curve) {
  return curve.bytes.empty() ? 0 : *std::ranges::max_element(curve.bytes);
}

TEST_CASE("memory over a step: a value is in use from what makes it until what reads it last is done") {
  Graph g;
  const Value x = g.input("x", DType::float32, {100, 100});
  const Value a = matmul(x, x).named("a"), b = matmul(a, a).named("b"), c = matmul(b, b).named("c");
  const std::vector<StepMemory> all = step_memories(test::planned(g, {c}, 1, {}, {{x.id(), {100, 100}}}));
  REQUIRE(all.size() == 1);
  const StepMemory& memory = all[0];
  CHECK(memory.tasks == "task 0");
  CHECK(memory.planned == 80'000);
  CHECK(memory.arena >= memory.planned);
  REQUIRE(memory.names == std::vector<std::string>{"feed x", "MatMul a", "MatMul b", "MatMul c", "fetch c"});
  const MemoryCurve curve = curve_of(memory, memory.names);
  CHECK(curve.duration == 50);
  CHECK(curve.times == std::vector<std::int64_t>{0, 10, 20, 30, 40, 50});
  CHECK(curve.bytes == std::vector<std::uint64_t>{40'000, 80'000, 80'000, 80'000, 40'000, 0});
  REQUIRE(curve.largest.size() == 2);
  CHECK(curve.largest[1]->text == "a float32[100,100]");
  CHECK(curve.largest[1]->line.find("step_memory_test.cpp:") != std::string::npos);

  // What a trace does not have takes no time.
  CHECK(curve_of(memory, {"feed x", "MatMul b", "fetch c"}).times == std::vector<std::int64_t>{0, 10, 20, 30});
  CHECK_FALSE(memory_curve(memory, traced(memory.names), "8").has_value());
}

TEST_CASE("memory over a step is told of each device alone") {
  Graph g;
  const Value x = g.input("x", DType::float32, {100, 100});
  Value b;
  {
    const auto there = g.device("/task:0/gpu:0");
    const Value a = matmul(x, x).named("a");
    b = matmul(a, a).named("b");
  }
  Topology topology = Topology::local(1);
  topology.tasks[0].gpus = 1;
  Signature signature;
  signature.feeds = {{x.id(), 0, {100, 100}}};
  signature.fetches = {b.id()};
  const KernelsOfDevices kernels(cpu_kernels(), simulated_devices(1));
  PlanOptions options;
  options.default_device = DeviceKind::cpu;
  const std::vector<StepMemory> all = step_memories(make_plan(g, signature, topology, kernels, options).plan);
  REQUIRE(all.size() == 2);
  for (const StepMemory& memory : all) {
    CAPTURE(memory.device);
    const bool on_gpu = memory.device == "gpu:0";
    CHECK((on_gpu || memory.device == "cpu:0"));
    CHECK(memory.planned >= 80'000);
    CHECK(memory.planned <= memory.arena);
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(memory.values, [&](const auto& value) { return value.text.starts_with(name); });
    };
    CHECK(has("a ") == on_gpu);
    CHECK(has("b "));  // it is copied to the host
    CHECK(memory_curve(memory, traced(memory.names), std::string(kPlan)).has_value());
  }
}

TEST_CASE("memory over a step: what only a loop needs is the most that an iteration needs at a time") {
  Graph g;
  const Value x = g.input("x", DType::float32, {100, 100});
  const Values end = while_loop(
      {g.constant(0.0), x}, [&](const Values& c) { return less(c[0], 10); },
      [&](const Values& c) {
        const Value a = matmul(c[1], c[1]), b = matmul(a, a);
        return Values{c[0] + 1, matmul(matmul(b, b), c[1])};
      });
  const StepMemory memory = step_memories(test::planned(g, {end[1]}, 1, {}, {{x.id(), {100, 100}}}))[0];
  const auto nested =
      std::ranges::find_if(memory.values, [](const auto& value) { return value.text.starts_with("in loop"); });
  REQUIRE(nested != memory.values.end());
  CHECK(nested->bytes >= 80'000);
  CHECK(nested->bytes < 120'000);
  CHECK(most(curve_of(memory, memory.names)) <= memory.planned);
}

TEST_CASE("memory over a step: never more than is planned, and all of it in plans without holes") {
  std::size_t full = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph made = test::random_graph(seed, 30, 1);
    const Plan plan = test::planned(*made.graph, made.fetches, 1, made.targets, test::feeds_of(made));
    for (const StepMemory& memory : step_memories(plan)) {
      const MemoryCurve curve = curve_of(memory, memory.names);
      CHECK(most(curve) <= memory.planned);
      CHECK(memory.planned <= memory.arena);
      CHECK((curve.bytes.empty() || curve.bytes.back() == 0));
      full += most(curve) + 8 * kBufferAlign >= memory.planned ? 1 : 0;
    }
  }
  CHECK(full > 20);
}

TEST_CASE("memory over a long step is thinned out to its highest points") {
  StepMemory memory;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    memory.names.push_back("Exp " + std::to_string(i));
    memory.values.push_back({"", "", i == 12'345 ? 7'000U : 64U, i, i});
  }
  const MemoryCurve curve = curve_of(memory, memory.names);
  CHECK(curve.times.size() <= kMostMemoryPoints);
  CHECK(curve.times.size() > kMostMemoryPoints / 2);
  CHECK(most(curve) == 7'000);
}

}  // namespace
}  // namespace ferry
