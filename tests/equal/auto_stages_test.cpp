// Placement by itself in the stages of a pipeline, where the memory of the tasks requires it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "placement/choose/memory_limits.hpp"
#include "plan/traffic/costs.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/random_network.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

/// Layers of one size with the entries "train", by Adam, and "eval"; in microbatches if there is more than one.
struct DeepNetwork {
  Graph g;
  Values weights;

  explicit DeepNetwork(std::int64_t microbatches = 1) {
    constexpr int kLayers = 8;
    constexpr std::int64_t kSize = 256;
    Value y = g.input("x", DType::float32, {32, kSize});
    for (int layer = 0; layer < kLayers; ++layer) {
      weights.push_back(g.variable("w" + std::to_string(layer), g.constant(Tensor(DType::float32, {kSize, kSize}))));
      y = tanh(matmul(y, weights.back()));
    }
    const Value eval = mean(square(y));
    const Value loss = microbatches > 1 ? pipeline(eval, {.microbatches = microbatches}) : eval;
    for (const Value& update : adam(loss, weights, 0.01)) g.target("train", update);
    g.fetch("train", "loss", loss);
    g.fetch("eval", "loss", eval);
  }

  [[nodiscard]] Signature request(const std::string& entry) const { return signature_of_entry(g, entry); }
};

PlanResult placed(const Graph& g, const Signature& signature, const Topology& topology, PlanOptions options = {}) {
  if (!options.placing) options.placing = Placing::automatic;
  options.evaluate = computed_constant;
  PlanResult result = make_plan(g, signature, topology, all_kernels(), options);
  require_verified(result.plan);
  const Equality equality = compared(g, signature, result.plan);
  CHECK_MESSAGE(equality.verdict == Equality::Verdict::equal, equality.reason);
  return result;
}

std::uint64_t most_memory(const Plan& plan) {
  std::uint64_t most = 0;
  for (const PlanClass& role : plan.classes) most = std::max(most, memory_of(role));
  return most;
}

const AutoPlacement::Candidate& taken(const PlanResult& result) {
  return result.placement->candidates[result.placement->taken];
}

/// Tasks with so slow a network that one task is the fastest.
Topology slow_network(int tasks) {
  Topology topology = Topology::local(tasks);
  topology.on_host.bytes_per_second /= 1000;
  return topology;
}

void set_memory(Topology& topology, std::uint64_t bytes) {
  for (TaskInfo& task : topology.tasks) task.memory_bytes = bytes;
}

/// The tasks that have a variable whole.
std::vector<int> tasks_of(const Plan& plan, const std::string& variable) {
  std::vector<int> tasks;
  for (int task = 0; task < static_cast<int>(plan.class_of.size()); ++task)
    for (const PlanVariable& one : plan.class_for(task).variables)
      if (plan.string(one.name) == variable) tasks.push_back(task);
  return tasks;
}

TEST_CASE("a network that is too large for one task is placed in stages where splitting its values is slower") {
  const DeepNetwork network;
  for (const int tasks : {2, 4}) {
    CAPTURE(tasks);
    Topology topology = slow_network(tasks);
    const PlanResult free = placed(network.g, network.request("train"), topology);
    CHECK(taken(free).name == "as annotated");
    for (const AutoPlacement::Candidate& candidate : free.placement->candidates)
      CHECK(candidate.name.find("pipeline") == std::string::npos);
    set_memory(topology, most_memory(free.plan) * 7 / 10);
    const PlanResult train = placed(network.g, network.request("train"), topology);
    CHECK(taken(train).name == "pipeline of 2 stages");
    CHECK(most_memory(train.plan) <= topology.tasks[0].memory_bytes);
    CHECK(train.placement->memory_bytes == static_cast<std::int64_t>(most_memory(train.plan)));
    CHECK(train.placement->model_seconds == 0);
    CHECK(train.plan.collectives.empty());
    const PlanResult eval = placed(network.g, network.request("eval"), topology);
    CHECK(taken(eval).name == taken(train).name);
    for (std::size_t layer = 0; layer < network.weights.size(); ++layer) {
      const std::string name = network.weights[layer].name();
      const std::vector<int> wanted{layer < network.weights.size() / 2 ? 0 : 1};
      for (const char* beside : {"", "/adam_m", "/adam_v"}) CHECK(tasks_of(train.plan, name + beside) == wanted);
      CHECK(tasks_of(eval.plan, name) == wanted);
    }
  }
}

TEST_CASE("less memory needs more stages, and is never faster") {
  const DeepNetwork network;
  Topology topology = slow_network(4);
  const PlanResult free = placed(network.g, network.request("train"), topology);
  double before = free.placement->step_seconds;
  bool four = false;
  for (const std::uint64_t percent : {90, 70, 55, 45, 35, 30}) {
    CAPTURE(percent);
    set_memory(topology, most_memory(free.plan) * percent / 100);
    const PlanResult result = placed(network.g, network.request("train"), topology);
    CHECK(most_memory(result.plan) <= topology.tasks[0].memory_bytes);
    CHECK(result.placement->step_seconds >= before);
    before = result.placement->step_seconds;
    four = four || taken(result).name == "pipeline of 4 stages";
  }
  CHECK(four);
}

TEST_CASE("placement by itself keeps to the memory of hosts") {
  const DeepNetwork network;
  Topology topology = slow_network(2);
  const auto set_host_memory = [&](std::uint64_t bytes) {
    for (TaskInfo& task : topology.tasks) task.host_memory_bytes = bytes;
  };
  set_host_memory(1ULL << 40);
  const PlanResult free = placed(network.g, network.request("train"), topology);
  CHECK(taken(free).name == "as annotated");
  CHECK(free.placement->memory_bytes == 0);
  set_host_memory(most_memory(free.plan) * 7 / 10);
  topology.tasks[1].host = 1;
  topology.between_hosts = topology.on_host;
  for (const bool one_host : {false, true}) {
    PlanOptions options;
    options.one_host = one_host;
    const PlanResult fits = placed(network.g, network.request("train"), topology, options);
    CHECK(taken(fits).name == "pipeline of 2 stages");
    CHECK(fits.placement->memory_bytes == static_cast<std::int64_t>(most_memory(fits.plan)));
  }
}

TEST_CASE("the tasks of a host share its memory") {
  const DeepNetwork network;
  Topology topology = Topology::local(3);
  topology.tasks[2].host = 1;
  for (TaskInfo& task : topology.tasks) task.host_memory_bytes = 1;
  PlanOptions options;
  options.placing = Placing::annotated;
  const Plan plan = plan_for(network.g, network.request("train"), topology, options);
  const MemoryLimits limits(topology, {});
  const MemoryLimits::Need need = limits.tightest(plan).value();
  CHECK(need.needed == static_cast<std::int64_t>(memory_of(plan.class_for(0)) + memory_of(plan.class_for(1))));
  CHECK(need.task == 0);
  CHECK(need.tasks == 2);
  const Error error = limits.refusal(plan, need, "mesh 3");
  CHECK(says(error, "no placement was found that fits into 1 B (1 bytes) of memory"));
  CHECK(says(error, "mesh 3, on the tasks of host localhost, the most on task 0"));
  CHECK(says(error, "try: fewer tasks on a host, a smaller batch, or hosts with " + std::to_string(need.needed)));
}

TEST_CASE("microbatches of a graph follow each other through the stages that are chosen for it") {
  const DeepNetwork whole, microbatches(4);
  Topology topology = Topology::local(2);
  topology.on_host.bytes_per_second /= 50;
  const auto seconds = [&](const DeepNetwork& network) {
    set_memory(topology, 0);
    const std::uint64_t most = most_memory(placed(network.g, network.request("train"), slow_network(2)).plan);
    set_memory(topology, most * 7 / 10);
    const PlanResult result = placed(network.g, network.request("train"), topology);
    for (const AutoPlacement::Candidate& candidate : result.placement->candidates)
      if (candidate.name == "pipeline of 2 stages") return candidate.step_seconds;
    return 0.0;
  };
  const double in_turn = seconds(whole), at_once = seconds(microbatches);
  CHECK(at_once > 0);
  CHECK(at_once < in_turn);
}

TEST_CASE("annotations hold in stages, too") {
  DeepNetwork network;
  const Value& last = network.weights.back();
  network.g.annotate(last.op().id(), {DeviceSpec::parse("/task:0"), kNoMesh, {}});
  Topology topology = slow_network(2);
  const PlanResult free = placed(network.g, network.request("train"), topology);
  bool in_stages = false;
  for (const std::uint64_t percent : {65, 60, 55}) {
    CAPTURE(percent);
    set_memory(topology, most_memory(free.plan) * percent / 100);
    const PlanResult result = placed(network.g, network.request("train"), topology);
    CHECK(tasks_of(result.plan, last.name()) == std::vector<int>{0});
    in_stages = in_stages || taken(result).name == "pipeline of 2 stages";
  }
  CHECK(in_stages);
}

TEST_CASE("with the annotations of its stages, a graph has the same plan") {
  DeepNetwork network;
  Topology topology = slow_network(2);
  set_memory(topology, most_memory(placed(network.g, network.request("train"), topology).plan) * 7 / 10);
  PlanOptions options;
  options.annotations = true;
  const PlanResult chosen = placed(network.g, network.request("train"), topology, options);
  REQUIRE(chosen.placement->annotations);
  CHECK(chosen.placement->annotations->step_seconds == chosen.placement->step_seconds);
  annotate(network.g, *chosen.placement->annotations);
  options.placing = Placing::annotated;
  const PlanResult annotated = placed(network.g, network.request("train"), topology, options);
  CHECK(fingerprint(annotated.plan) == fingerprint(chosen.plan));
}

TEST_CASE("a loop at the border of two stages gets its state once, not in each iteration") {
  Graph g;
  Value y = g.input("x", DType::float32, {16, 256});
  for (int layer = 0; layer < 6; ++layer) {
    const Value w = g.variable("w" + std::to_string(layer), g.constant(Tensor(DType::float32, {256, 256})));
    y = while_loop(
        {g.constant(0), y}, [](const Values& s) { return s[0] < 3; },
        [&](const Values& s) {
          return Values{s[0] + 1, tanh(matmul(s[1], w))};
        })[1];
  }
  const Signature signature = signature_of(g, {y});
  Topology topology = slow_network(2);
  const std::uint64_t most = most_memory(placed(g, signature, topology).plan);
  bool in_stages = false;
  for (const std::uint64_t percent : {65, 60, 55}) {
    CAPTURE(percent);
    set_memory(topology, most * percent / 100);
    const PlanResult result = placed(g, signature, topology);
    if (taken(result).name != "pipeline of 2 stages") continue;
    in_stages = true;
    CHECK(result.plan.channels.size() == 2);  // to the second stage, and the fetch
    for (const PlanClass& role : result.plan.classes)
      for (const Region& region : role.regions)
        for (const Instruction& instruction : role.instructions_of(region))
          if (instruction.what == Opcode::send) CHECK(region.kind == Region::Kind::step);
  }
  CHECK(in_stages);
}

TEST_CASE("random networks in stages compute their graphs") {
  int in_stages = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const int tasks : {2, 3}) {
      CAPTURE(seed);
      CAPTURE(tasks);
      RandomNetwork network;
      make_network(network, seed, Annotated::nowhere);
      const Signature signature = signature_of(network.graph, {network.loss}, network.updates);
      Topology topology = slow_network(tasks);
      const std::uint64_t most = most_memory(placed(network.graph, signature, topology).plan);
      for (const std::uint64_t percent : {80, 60}) try {
          set_memory(topology, most * percent / 100);
          const PlanResult result = placed(network.graph, signature, topology);
          CHECK(most_memory(result.plan) <= topology.tasks[0].memory_bytes);
          in_stages += taken(result).name.starts_with("pipeline") ? 1 : 0;
        } catch (const Error& error) {
          CHECK(says(error, "no placement was found that fits into"));
        }
    }
  CHECK(in_stages > 0);
}

}  // namespace
}  // namespace ferry::test
