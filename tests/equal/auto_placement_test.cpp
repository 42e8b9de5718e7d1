// Placement by itself: the choice of a mesh and layouts, annotations as constraints, and the proof of the plans.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/planned_time.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
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

  [[nodiscard]] Signature request(const std::string& entry) const { return signature_of_entry(g, entry); }

  static constexpr std::int64_t kInputs = 256;
  Graph g;
  Value first;
};

PlanResult placed(const Network& network, const std::string& entry, const Topology& topology,
                  PlanOptions options = {}) {
  if (!options.placing) options.placing = Placing::automatic;
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

TEST_CASE("placement by itself knows values that ops use only for their sizes") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value like = broadcast_to(g.constant(0.0F), {3, 3});
  const Value y = broadcast_as(x, like), z = sum_as(y, g.constant({0.0F, 0.0F, 0.0F}));
  Signature signature = signature_of(g, {});
  signature.fetches = {y.id(), z.id()};
  PlanOptions options;
  options.placing = Placing::automatic;
  options.evaluate = computed_constant;
  const PlanResult result = make_plan(g, signature, Topology::local(2), all_kernels(), options);
  require_verified(result.plan);
  CHECK(compared(g, signature, result.plan).verdict == Equality::Verdict::equal);
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

TEST_CASE("a graph may say that it is placed by itself, and options overrule it") {
  Network network(512, 1024);
  const Topology topology = Topology::local(2);
  const PlanResult wanted = placed(network, "train", topology);
  const auto planned = [&](std::optional<Placing> placing) {
    PlanOptions options;
    options.placing = placing;
    options.evaluate = computed_constant;
    return make_plan(network.g, network.request("train"), topology, all_kernels(), options);
  };
  CHECK(!planned({}).placement);
  network.g.auto_place();
  CHECK(fingerprint(planned({}).plan) == fingerprint(wanted.plan));
  CHECK(fingerprint(planned(Placing::automatic).plan) == fingerprint(wanted.plan));
  CHECK(!planned(Placing::annotated).placement);
}

TEST_CASE("other layouts of a variable cost at least the certified difference") {
  int others = 0;
  for (const int tasks : {2, 4, 8}) {
    CAPTURE(tasks);
    const Topology topology = Topology::local(tasks);
    PlanOptions options;
    options.compared = "first";
    const PlanResult free = placed(Network(512, 1024), "train", topology, options);
    REQUIRE(free.placement->alternatives.size() == 1);
    const Alternative& first = free.placement->alternatives[0];
    CHECK(first.subject == "first");
    CHECK(first.line.known());
    CHECK(first.at_least_seconds > 0);
    CHECK(first.at_least_seconds <= first.found_seconds);
    CHECK(first.other != first.layouts);
    const std::string& mesh = free.placement->candidates[free.placement->taken].name;
    for (const AxisLayout axis : {replicated(), split(0), split(1)}) {
      Network fixed(512, 1024);
      fixed.g.annotate(fixed.first.op().id(), {{}, fixed.g.mesh("all"), {{axis}}});
      const AutoPlacement placement = *placed(fixed, "train", topology).placement;
      if (str({axis}) == first.layouts || placement.candidates[placement.taken].name != mesh) continue;
      const double more = placement.model_seconds - free.placement->model_seconds;
      CHECK(more >= first.at_least_seconds * (1 - 1e-9));
      if (str({axis}) == first.other) CHECK(more <= first.found_seconds * (1 + 1e-9));
      ++others;
    }
  }
  CHECK(others > 0);
}

TEST_CASE("layouts of ops are compared with the next best, too") {
  PlanOptions options;
  options.compared = "tanh:0";
  const PlanResult result = placed(Network(512, 1024), "train", Topology::local(2), options);
  REQUIRE(result.placement->alternatives.size() == 1);
  CHECK(result.placement->alternatives[0].layouts.find(" -> ") != std::string::npos);
  CHECK(result.placement->alternatives[0].computing_seconds > 0);
}

TEST_CASE("the message of a fetch does not count as computing") {
  Graph g;
  const Value x = g.input("x", {512, 512});
  const Value y = matmul(x, g.constant(Tensor(DType::float32, {512, 512}))).named("y");
  PlanOptions options;
  options.placing = Placing::automatic;
  options.compared = "y";
  options.step_estimate = true;
  const PlanResult result = make_plan(g, signature_of(g, {y}), Topology::local(2), all_kernels(), options);
  const auto product = std::ranges::find(result.step->work, "y", &StepWork::name);
  REQUIRE(product != result.step->work.end());
  REQUIRE(result.placement->alternatives.size() == 1);
  const Alternative& alternative = result.placement->alternatives[0];
  CHECK(alternative.computing_seconds == doctest::Approx(product->seconds));
  CHECK(alternative.message_seconds > 0);
}

TEST_CASE("other layouts are compared within the limit of memory") {
  const Network network(16, 512);
  Topology topology = Topology::local(2);
  topology.on_host.bytes_per_second /= 1000;
  const std::uint64_t most = memory_of(placed(network, "train", topology).plan.classes[0]);
  for (TaskInfo& task : topology.tasks) task.memory_bytes = most * 70 / 100;
  PlanOptions options;
  options.compared = "*";
  const AutoPlacement placement = *placed(network, "train", topology, options).placement;
  REQUIRE(placement.memory_bytes > 0);
  const double least = placement.bound_seconds - placement.model_seconds;
  int others = 0;
  for (const Alternative& alternative : placement.alternatives) {
    CHECK(alternative.at_least_seconds >= 0);
    CHECK(alternative.found_seconds >= least * (1 + 1e-9));
    CHECK(alternative.found_seconds >= alternative.at_least_seconds * (1 - 1e-9) + std::min(least, 0.0));
    others += alternative.other.empty() ? 0 : 1;
  }
  CHECK(others > 0);
}

TEST_CASE("the annotations that it finds keep to the memory of a task") {
  const Network network(16, 512);
  Topology topology = Topology::local(2);
  topology.on_host.bytes_per_second /= 1000;
  const std::uint64_t most = memory_of(placed(network, "train", topology).plan.classes[0]);
  PlanOptions options;
  options.annotations = true;
  for (const std::uint64_t percent : {99, 80, 70, 60}) {
    CAPTURE(percent);
    for (TaskInfo& task : topology.tasks) task.memory_bytes = most * percent / 100;
    const std::optional<LayoutAnnotations> annotations =
        placed(network, "train", topology, options).placement->annotations;
    if (!annotations) continue;
    Network annotated(16, 512);
    annotate(annotated.g, *annotations);
    PlanOptions as_annotated;
    as_annotated.placing = Placing::annotated;
    const PlanResult result = placed(annotated, "train", topology, as_annotated);
    CHECK(memory_of(result.plan.classes[0]) <= topology.tasks[0].memory_bytes);
  }
}

TEST_CASE("nested loops with the longest costs have a planned time") {
  Graph g;
  const auto goes_on = [](const Values& s) { return max(s[0]) < 1.0; };
  const std::function<Value(const Value&, int)> nested = [&](const Value& x, int depth) -> Value {
    if (depth == 0) return tanh(x) + 1.0;
    return while_loop({x}, goes_on, [&](const Values& s) { return Values{nested(s[0], depth - 1)}; })[0];
  };
  const Value y = nested(g.input("x", {8}), 4);
  Topology topology = Topology::local(2);
  topology.compute.call = topology.compute.wait = ComputeCosts::kMostPicoseconds;
  for (const Placing placing : {Placing::annotated, Placing::automatic}) {
    PlanOptions options;
    options.placing = placing;
    options.step_estimate = true;
    const StepEstimate step = *make_plan(g, signature_of(g, {y}), topology, all_kernels(), options).step;
    CHECK(step.step_seconds == doctest::Approx(static_cast<double>(kLongestPlannedTime) * 1e-12));
    CHECK(step.computing_seconds > 0);
  }
}

TEST_CASE("with the annotations that it finds, a graph has about the planned time of placement by itself") {
  for (const int tasks : {2, 4}) {
    CAPTURE(tasks);
    const Topology topology = Topology::local(tasks);
    Network network(512, 1024);
    PlanOptions options;
    options.annotations = true;
    const PlanResult free = placed(network, "train", topology, options);
    REQUIRE(free.placement->annotations);
    const LayoutAnnotations& annotations = *free.placement->annotations;
    CHECK(annotations.step_seconds <= 1.02 * free.placement->step_seconds);
    annotate(network.g, annotations);
    const PlanResult annotated = placed(network, "train", topology);
    CHECK(annotated.placement->candidates[0].step_seconds == annotations.step_seconds);
  }
}

TEST_CASE("an annotation that no layouts of an op give is an error with the op and its line") {
  Graph g;
  const Value x = g.input("x", DType::float32, {64, 64});
  const auto on_all = g.on(g.mesh("all"));
  const Value y = tanh(x).laid({partial(Reduce::sum)});
  for (const Placing placing : {Placing::annotated, Placing::automatic}) {
    PlanOptions options;
    options.placing = placing;
    std::string text;
    try {
      static_cast<void>(plan_for(g, signature_of(g, {y}), Topology::local(2), options));
    } catch (const Error& error) {
      CHECK(error.code() == Code::plan);
      text = error.text();
    }
    CHECK(text.find("no layouts of tanh (Tanh) at ") == 0);
    CHECK(text.find("auto_placement_test.cpp:") != std::string::npos);
    CHECK(text.find(" give [P(sum)]") != std::string::npos);
  }
}

TEST_CASE("a graph of one op is placed by itself") {
  Graph g;
  const Value x = g.input("x", DType::float32, {4});
  for (const int tasks : {1, 2, 4}) {
    PlanOptions options;
    options.placing = Placing::automatic;
    options.annotations = true;
    options.compared = "x";
    const PlanResult result = make_plan(g, signature_of(g, {x}), Topology::local(tasks), all_kernels(), options);
    CHECK(result.placement->taken == 0);
    CHECK(result.placement->alternatives.empty());
    CHECK(!result.placement->annotations);
  }
}

TEST_CASE("a job of 65,536 tasks is placed by its classes") {
  const Network network(512, 1024);
  PlanOptions options;
  options.placing = Placing::automatic;
  options.annotations = true;
  const PlanResult result =
      make_plan(network.g, network.request("train"), Topology::local(65'536), all_kernels(), options);
  CHECK(result.placement->candidates.size() == 3);
  CHECK(result.plan.class_of.size() == 65'536);
  CHECK(result.plan.classes.size() <= 3);
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

TEST_CASE("tasks that would all do the same work as one task are not used") {
  Graph g;
  const Value start = g.constant(Tensor(DType::float32, {48, 32}));
  const Values end = while_loop(
      {g.constant(0.0), start}, [](const Values& s) { return s[0] < 200.0; },
      [](const Values& s) {
        const Value above = slice(pad(s[1], {1, 0}, {0, 0}), 0, 0, -1), below = slice(pad(s[1], {0, 0}, {1, 0}), 0, 1);
        const Value left = slice(pad(s[1], {0, 1}, {0, 0}), 1, 0, -1), right = slice(pad(s[1], {0, 0}, {0, 1}), 1, 1);
        return Values{s[0] + 1.0, (above + below + left + right) * 0.25};
      });
  const Signature signature = signature_of(g, {end[1]});
  PlanOptions options;
  options.placing = Placing::automatic;
  for (const int tasks : {2, 4}) {
    CAPTURE(tasks);
    const PlanResult result = make_plan(g, signature, Topology::local(tasks), all_kernels(), options);
    CHECK(result.placement->taken == 0);
    const Equality equality = compared(g, signature, result.plan);
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

TEST_CASE("a kernel of hours is split, too") {
  Graph g;
  const Value x = g.input("x", {100'000, 100'000});
  PlanOptions options;
  options.placing = Placing::automatic;
  const PlanResult result =
      make_plan(g, signature_of(g, {sum(matmul(x, x))}), Topology::local(4), all_kernels(), options);
  CHECK(result.placement->candidates[result.placement->taken].name != "as annotated");
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
