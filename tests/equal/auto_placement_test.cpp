// Placement by itself: the choice of a mesh and layouts, annotations as constraints, and the proof of the plans.
#include <doctest/doctest.h>

#include <limits>
#include <optional>

#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "plan/traffic/costs.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

/// A network of two layers with the entries "train", which updates both weights, and "eval".
struct Network {
  Network(std::int64_t rows, std::int64_t hidden, const Layout& of_first = {}) {
    const Value x = g.input("x", DType::float32, {rows, kInputs});
    const Value start = g.constant(Tensor(DType::float32, {kInputs, hidden}));
    {
      const std::optional<Scope> on_all = of_first.empty() ? std::nullopt : std::optional<Scope>(g.on(g.mesh("all")));
      first = g.variable("first", start);
      if (!of_first.empty()) first = first.laid(of_first);
    }
    const Value second = g.variable("second", g.constant(Tensor(DType::float32, {hidden, 64})));
    const Value loss = mean(square(matmul(tanh(matmul(x, first)), second)));
    for (const Value& update : sgd(loss, {first, second}, 0.1)) g.target("train", update);
    g.fetch("train", "loss", loss);
    g.fetch("eval", "loss", loss);
  }

  [[nodiscard]] Signature request(const std::string& entry) const {
    Signature signature = signature_of(g, {});
    for (const Entry::Named& fetch : g.entries().at(entry).fetches) signature.fetches.push_back(fetch.value);
    signature.targets = g.entries().at(entry).targets;
    std::ranges::sort(signature.targets);
    return signature;
  }

  static constexpr std::int64_t kInputs = 256;
  Graph g;
  Value first;
};

PlanResult placed(const Network& network, const std::string& entry, const Topology& topology) {
  PlanOptions options;
  options.placing = Placing::automatic;
  options.evaluate = computed_constant;
  const Signature signature = network.request(entry);
  PlanResult result = make_plan(network.g, signature, topology, all_kernels(), options);
  require_verified(result.plan);
  const Equality equality = compared(network.g, signature, result.plan);
  CHECK_MESSAGE(equality.verdict == Equality::Verdict::equal, equality.reason);
  return result;
}

/// The sizes of a variable on a task.
std::vector<std::int64_t> sizes_of(const Plan& plan, std::string_view variable, int task) {
  for (const PlanVariable& one : plan.class_for(task).variables)
    if (plan.string(one.name) == variable) return plan.class_for(task).buffers[one.buffer].sizes;
  return {};
}

TEST_CASE("placement by itself spreads work over all tasks where that pays") {
  const Network network(512, 1024);
  for (const int tasks : {2, 3, 4}) {
    CAPTURE(tasks);
    const PlanResult result = placed(network, "train", Topology::local(tasks));
    const AutoPlacement& placement = *result.placement;
    CHECK(placement.candidates[0].name == "as annotated");
    CHECK(placement.taken > 0);
    CHECK(placement.step_seconds < 0.7 * placement.candidates[0].step_seconds);
    CHECK(placement.bound_seconds <= placement.model_seconds);
    CHECK(placement.bound_seconds > 0.99 * placement.model_seconds);
    for (const AutoPlacement::Candidate& candidate : placement.candidates)
      CHECK(placement.step_seconds <= candidate.step_seconds);
  }
}

TEST_CASE("placement by itself leaves a small graph on one task") {
  const PlanResult result = placed(Network(4, 8), "train", Topology::local(4));
  CHECK(result.placement->taken == 0);
  CHECK(result.plan.collectives.empty());
}

TEST_CASE("an annotated layout is a constraint of placement by itself") {
  for (const int dim : {0, 1}) {
    const PlanResult result = placed(Network(512, 1024, {split(dim)}), "train", Topology::local(2));
    const std::vector<std::int64_t> sizes = sizes_of(result.plan, "first", 1);
    CHECK(sizes == (dim == 0 ? std::vector<std::int64_t>{128, 1024} : std::vector<std::int64_t>{256, 512}));
  }
}

TEST_CASE("all entries have variables in the layouts that the entry train decides") {
  const Network network(512, 1024);
  const Topology topology = Topology::local(4);
  const PlanResult train = placed(network, "train", topology), eval = placed(network, "eval", topology);
  CHECK(eval.placement->entry == "train");
  CHECK(eval.placement->step_seconds == train.placement->step_seconds);
  for (const char* variable : {"first", "second"}) {
    CHECK(!sizes_of(train.plan, variable, 3).empty());
    CHECK(sizes_of(eval.plan, variable, 3) == sizes_of(train.plan, variable, 3));
  }
}

TEST_CASE("a value that both bodies of a loop read has one layout") {
  Graph g;
  const Value start = g.constant(Tensor(DType::float32, {1024, 1024})), rows = g.input("rows", {1024, 1024});
  const Values end = while_loop(
      {rows + start}, [](const Values& s) { return max(s[0]) < 1000.0; },
      [&](const Values& s) { return Values{tanh(matmul(s[0], rows)) + 1.0}; });
  const Signature signature = signature_of(g, {sum(end[0])});
  PlanOptions options;
  options.placing = Placing::automatic;
  for (const int tasks : {2, 4}) {
    const Plan plan = plan_for(g, signature, Topology::local(tasks), options);
    CHECK(plan.collectives.size() > 0);
    const Equality equality = compared(g, signature, plan);
    CHECK_MESSAGE(equality.verdict == Equality::Verdict::equal, equality.reason);
  }
}

TEST_CASE("inputs that are fed by parts are placed by themselves, too") {
  const Network network(512, 1024);
  Signature signature = network.request("eval");
  signature.feeds[0].by_parts = true;
  PlanOptions options;
  options.placing = Placing::automatic;
  Topology topology = Topology::local(4);
  for (std::size_t task = 0; task < 4; ++task) topology.tasks[task].host = static_cast<std::int32_t>(task / 2);
  const Equality equality = compared(network.g, signature, plan_for(network.g, signature, topology, options));
  CHECK_MESSAGE(equality.verdict == Equality::Verdict::equal, equality.reason);
}

TEST_CASE("of two axes the first is over hosts") {
  Topology topology = Topology::local(4);
  for (std::size_t task = 0; task < 4; ++task) topology.tasks[task].host = static_cast<std::int32_t>(task / 2);
  const PlanResult result = placed(Network(512, 1024), "train", topology);
  CHECK(result.placement->candidates.size() == 4);
  CHECK(result.placement->candidates.back().name == "mesh 2x2");
}

TEST_CASE("placement by itself keeps to the memory of a task, in all entries") {
  const Network network(16, 512);
  Topology topology = Topology::local(2);
  topology.on_host.bytes_per_second /= 1000;  // one task is the fastest, and has everything
  const auto needed = [](const PlanResult& result) { return memory_of(result.plan.classes[0]); };
  const std::uint64_t most = needed(placed(network, "train", topology));
  int fits = 0;
  double before = 0;
  for (const std::uint64_t percent : {99, 80, 70, 60, 55, 40, 20}) {
    CAPTURE(percent);
    for (TaskInfo& task : topology.tasks) task.memory_bytes = most * percent / 100;
    try {
      const PlanResult result = placed(network, "train", topology);
      const AutoPlacement& placement = *result.placement;
      CHECK(needed(result) <= topology.tasks[0].memory_bytes);
      CHECK(placement.memory_bytes == static_cast<std::int64_t>(needed(result)));
      CHECK(placement.model_bytes <= placement.bound_bytes);
      CHECK(placement.bound_seconds <= placement.model_seconds);
      CHECK(placement.step_seconds >= before);
      before = placement.step_seconds;
      ++fits;
      CHECK(needed(placed(network, "eval", topology)) <= topology.tasks[0].memory_bytes);
    } catch (const Error& error) {
      CHECK(error.code() == Code::plan);
      CHECK(says(error, "no placement was found that fits into"));
      CHECK(says(error, "auto_placement_test.cpp"));
    }
  }
  CHECK(fits > 0);
  CHECK(fits < 7);
}

TEST_CASE("a slower network never makes placement by itself send more") {
  const Network network(512, 1024);
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
  for (const double slower : {1.0, 10.0, 100.0}) {
    Topology topology = Topology::local(4);
    topology.on_host.bytes_per_second /= slower;
    std::uint64_t bytes = 0;
    for (const Collective& collective : placed(network, "train", topology).plan.collectives)
      for (const std::int64_t part : collective.parts) bytes += static_cast<std::uint64_t>(part);
    CHECK(bytes <= before);
    before = bytes;
  }
}

}  // namespace
}  // namespace ferry::test
