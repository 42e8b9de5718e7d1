// Large values of GPUs that go by way of hosts: in how many chunks they go, which transfers have chunks, and what the
// verifier refuses of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/messages/choose_chunks.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kElements = 1 << 19;  // 2 MB
const test::KernelsEverywhere kEverywhere;

/// Two tasks with two GPUs each.
Topology two_tasks() {
  Topology topology = Topology::local(2);
  for (TaskInfo& task : topology.tasks) task.gpus = 2;
  return topology;
}

Plan plan_everywhere(const Graph& graph, const Signature& signature, const Topology& topology) {
  PlanOptions options;
  options.default_device = DeviceKind::cpu;
  options.check_passes = true;
  return make_plan(graph, signature, topology, kEverywhere, options).plan;
}

/// A value that is made on the device `from` and read on `to`, and the sum of the values made of it there.
struct Sent {
  Graph graph;
  Signature signature;
  ValueId sent;

  Sent(const std::string& from, const std::string& to) {
    const Value x = graph.input("x", DType::float32, {kElements});
    Value a, b;
    {
      const auto here = graph.device(from);
      a = (-x).named("a");
    }
    {
      const auto there = graph.device(to);
      b = sum(exp(a), {0}).named("b");
    }
    signature.feeds = {{x.id(), 0, {kElements}}};
    signature.fetches = {b.id()};
    sent = a.id();
  }
  [[nodiscard]] Plan planned(const Topology& topology) const { return plan_everywhere(graph, signature, topology); }
};

/// The bytes of the messages that bring `a`.
std::vector<std::uint64_t> messages(const Plan& plan) {
  std::vector<std::uint64_t> bytes;
  for (const Channel& channel : plan.channels)
    if (plan.string(channel.name) == "a") bytes.push_back(channel.bytes);
  return bytes;
}

std::vector<std::uint64_t> messages(const std::string& from, const std::string& to, const Topology& topology) {
  const Plan plan = Sent(from, to).planned(topology);
  const Verdict verdict = verify(plan, {nullptr, &kEverywhere});
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return messages(plan);
}

/// The time of `chunks` chunks.
double seconds(double bytes, double chunks, std::span<const LinkCost> hops) {
  double latencies = 0, all = 0, slowest = 0;
  for (const LinkCost& hop : hops) {
    latencies += hop.latency_seconds;
    all += 1 / hop.bytes_per_second;
    slowest = std::max(slowest, 1 / hop.bytes_per_second);
  }
  const double each = bytes / chunks;
  return latencies + each * all + (chunks - 1) * (latencies + each * slowest);
}

}  // namespace

TEST_CASE("the number of chunks is the one that takes the least time") {
  const LinkCost pcie{10e-6, 55e9};
  for (const LinkCost wire : {LinkCost{1e-6, 8e9}, LinkCost{20e-6, 1e9}, LinkCost{5e-6, 25e9}, LinkCost{1e-6, 200e9}})
    for (const std::int64_t bytes : {100L, 100'000L, 2'000'000L, 10'000'000L, 200'000'000L, 4'000'000'000L}) {
      CAPTURE(bytes);
      CAPTURE(wire.bytes_per_second);
      const std::array hops{pcie, wire, pcie};
      const std::int64_t chosen = best_chunks(bytes, hops);
      double least = seconds(static_cast<double>(bytes), 1, hops);
      for (int k = 2; k <= 64; ++k) least = std::min(least, seconds(static_cast<double>(bytes), k, hops));
      CHECK(chosen <= 64);
      CHECK(seconds(static_cast<double>(bytes), static_cast<double>(chosen), hops) < 1.000001 * least);
    }
  const std::array alone{LinkCost{1e-6, 8e9}};
  CHECK(best_chunks(1 << 30, alone) == 1);  // there is nothing to overlap with
  CHECK(best_chunks(0, std::array{pcie, pcie}) == 1);
  CHECK(best_chunks(1 << 20, std::array{LinkCost{0, 1e9}, LinkCost{0, 1e9}}) == 64);
}

TEST_CASE("what goes from a GPU or to one by way of hosts goes in chunks, by the links") {
  Topology topology = two_tasks();
  const std::vector<std::uint64_t> whole{4 * kElements}, halves{2 * kElements, 2 * kElements};
  CHECK(messages("/task:0/gpu:0", "/task:1/gpu:1", topology) == halves);
  CHECK(messages("/task:0/cpu:0", "/task:1/cpu:0", topology) == whole);
  topology.host_gpu.latency_seconds = 1;
  CHECK(messages("/task:0/gpu:0", "/task:1/gpu:1", topology) == whole);
  topology.host_gpu = {1e-6, 5e9};
  CHECK(messages("/task:0/gpu:0", "/task:1/gpu:1", topology).size() == 15);
  CHECK(messages("/task:0/gpu:0", "/task:1/cpu:0", topology).size() == 11);
  CHECK(messages("/task:0/cpu:0", "/task:1/gpu:0", topology).size() == 11);
  for (TaskInfo& task : topology.tasks) task.memory_group = 0;
  CHECK(messages("/task:0/cpu:0", "/task:1/gpu:0", topology) == whole);  // it may be put
  for (TaskInfo& task : topology.tasks) task.gpu_group = 0;
  CHECK(messages("/task:0/gpu:0", "/task:1/gpu:0", topology).empty());  // the library's
}

TEST_CASE("a value that its own host needs whole, or that is sent in a loop, goes whole") {
  const std::vector<std::uint64_t> whole{4 * kElements};
  Sent fetched("/task:0/gpu:0", "/task:1/gpu:1");
  fetched.signature.fetches.push_back(fetched.sent);
  CHECK(messages(fetched.planned(two_tasks())) == whole);
  Graph g;
  const Value x = g.input("x", DType::float32, {kElements});
  const Values last = while_loop(
      {x, g.constant(0)}, [](const Values& v) { return v[1] < 3; },
      [](const Values& v) {
        Value a;
        {
          const auto here = v[0].graph().device("/task:0/gpu:0");
          a = (-v[0]).named("a");
        }
        const auto there = v[0].graph().device("/task:1/gpu:1");
        return Values{exp(a), v[1] + 1};
      });
  Signature signature;
  signature.feeds = {{x.id(), 0, {kElements}}};
  signature.fetches = {last[0].id()};
  const Plan looped = plan_everywhere(g, signature, two_tasks());
  const auto is_chunk = [](const Channel& channel) { return channel.bytes > 4 && channel.bytes < 4 * kElements; };
  CHECK(std::ranges::count(looped.channels, 4 * kElements, &Channel::bytes) > 1);
  CHECK(std::ranges::none_of(looped.channels, is_chunk));
}

TEST_CASE("a value that comes to a GPU and is sent on as a view of it may have chunks on both ways") {
  for (const bool whole : {false, true}) {  // on its first way, since another GPU needs it
    CAPTURE(whole);
    Graph g;
    Value x, view, there, back;
    {
      const auto here = g.device("/task:1/gpu:0");
      x = g.input("a", DType::float32, {kElements});
    }
    {
      const auto here = g.device(whole ? "/task:1/gpu:1" : "/task:1/gpu:0");
      view = identity(x);
      there = -x;
    }
    {
      const auto here = g.device("/task:0/gpu:0");
      back = x * view;
    }
    Signature signature;
    signature.feeds = {{x.id(), 0, {kElements}}};
    signature.fetches = {there.id(), back.id(), view.id()};
    const Plan plan = plan_everywhere(g, signature, two_tasks());
    const Verdict verdict = verify(plan, {nullptr, &kEverywhere});
    CHECK_MESSAGE(verdict.pass, verdict.reason);
    CHECK(messages(plan).front() == (whole ? 4 : 2) * kElements);
  }
}

TEST_CASE("plans of random graphs in chunks are proved, fed at task 0 as where each task is a process") {
  Topology topology = Topology::local(4);
  topology.on_host.latency_seconds = topology.host_gpu.latency_seconds = 0;
  for (TaskInfo& task : topology.tasks) task.gpus = 2;
  std::size_t chunks = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph made = test::random_graph(seed, 40, 4, 2);
    Signature signature;
    for (const Value& input : made.inputs)
      signature.feeds.push_back({input.id(), 0, test::tensor_for(seed, input).sizes()});
    for (const Value& fetch : made.fetches) signature.fetches.push_back(fetch.id());
    PlanOptions options;
    options.default_device = DeviceKind::gpu;
    const Plan plan = make_plan(*made.graph, signature, topology, kEverywhere, options).plan;
    const Verdict verdict = verify(plan, {nullptr, &kEverywhere});
    CHECK_MESSAGE(verdict.pass, verdict.reason);
    for (std::size_t c = 1; c < plan.channels.size(); ++c)
      chunks += plan.channels[c].name == plan.channels[c - 1].name ? 1 : 0;
  }
  CHECK(chunks > 250);
}

TEST_CASE("a chunk that is received at another place of its value than sent is refused") {
  Plan plan = Sent("/task:0/gpu:0", "/task:1/gpu:1").planned(two_tasks());
  CHECK(verify(plan, {nullptr, &kEverywhere}).reason.empty());
  for (PlanClass& role : plan.classes)
    for (Instruction& i : role.instructions)
      if (i.what == Opcode::receive || i.what == Opcode::receive_wait)
        if (plan.string(plan.channels[i.channel()].name) == "a") i.target = 1 - i.target;
  CHECK(test::has(verify(plan, {nullptr, &kEverywhere}).reason,
                  "a chunk is received at another place of its value than sent"));
}

}  // namespace ferry
