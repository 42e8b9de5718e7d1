// Sessions with devices besides the host, on simulated devices: annotations, variables, errors, devices that fail.
#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "executor/job/job_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"
#include "ops/array/indexing.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "placement/planner.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kElements = 64;

std::vector<Tensor> run(const Graph& g, const std::vector<Value>& fetches, const TensorMap& feeds, int tasks,
                        std::optional<std::uint64_t> simulated) {
  Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .jobs = "", .simulated = simulated}));
  return session.run(fetches, feeds);
}

/// The devices on which the task has values, in the order of their names.
std::string devices_of(const Plan& plan, int task) {
  std::set<std::string> names;
  for (const PlanDevice& device : plan.class_for(task).devices)
    names.insert(std::string(name_of(device.kind)) + ":" + std::to_string(device.index));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST_CASE("an annotation places an op on the host or one of several devices, and values go there") {
  Graph g;
  const Value x = g.input("x", DType::float32, {kElements});
  Values made;
  for (const char* device : {"/task:0/gpu:0", "/task:0/gpu:3", "/task:0/cpu:0", "/task:1/gpu:1", "/task:0/gpu:0"}) {
    const auto here = g.device(device);
    made.push_back((made.empty() ? x : made.back()) * 3 + 1);
  }
  std::vector<float> numbers(kElements);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const TensorMap feeds{{"x", Tensor::of<float>({kElements}, numbers)}};
  Session session(g, Cluster::connect(ClusterOptions{.tasks = 2, .jobs = "", .simulated = 7}));
  const std::vector<Tensor> got = session.run(made, feeds);
  float wanted = 5;
  for (const Tensor& tensor : got) {
    wanted = wanted * 3 + 1;
    CHECK(tensor.data<float>()[5] == wanted);
  }
  RunRequest request;
  request.fetches = made;
  request.feeds = feeds;
  const Plan& plan = session.plan(request).plan;
  CHECK(devices_of(plan, 0) == "cpu:0 gpu:0 gpu:3");
  CHECK(devices_of(plan, 1) == "cpu:0 gpu:1");
}

TEST_CASE("a device that a task has not is refused with the line") {
  Graph g;
  const Value x = g.input("x", DType::float32, {kElements});
  const auto there = g.device("/task:0/gpu:8");
  const Value y = (x + 1).named("y");
  const Error error = test::error_of([&] {
    static_cast<void>(run(g, {y}, {{"x", Tensor(DType::float32, {kElements})}}, 1, 1));
  });
  CHECK(test::says(error, "there is no device /task:0/gpu:8"));
  CHECK(test::says(error, "device_sessions_test.cpp:"));
}

TEST_CASE("a variable goes from device to device with the plans that use it, and is saved from there") {
  Graph g;
  const Value w = g.variable("w", g.constant(Tensor::of<float>({3}, {1, 2, 3})));
  const Value step = assign(w, w * 2);
  Value there;
  {
    const auto scope = g.device("/task:0/gpu:3");
    there = w * 10;
  }
  Session session(g, Cluster::connect(ClusterOptions{.tasks = 2, .jobs = "", .simulated = 3}));
  for (int i = 0; i < 2; ++i) static_cast<void>(session.run({step}));
  RunRequest elsewhere;
  elsewhere.fetches = {there};
  CHECK(session.run(elsewhere)[0].same_bits(Tensor::of<float>({3}, {40, 80, 120})));
  CHECK(devices_of(session.plan(elsewhere).plan, 0) == "cpu:0 gpu:3");
  static_cast<void>(session.run({step}));
  CHECK(session.variables().at("w").same_bits(Tensor::of<float>({3}, {8, 16, 24})));
  session.restore({{"w", Tensor::of<float>({3}, {5, 6, 7})}});
  CHECK(session.run({step})[0].same_bits(Tensor::of<float>({3}, {10, 12, 14})));
}

TEST_CASE("a value that a kernel on a device cannot work on ends the run as it does on the host") {
  Graph g;
  const Value x = g.input("x", DType::float32, {4});
  const Value i = g.input("i", DType::int64, {2});
  const Value y = gather(x, i, 0);
  const TensorMap feeds{{"x", Tensor(DType::float32, {4})}, {"i", Tensor::of<std::int64_t>({2}, {0, 4})}};
  std::string texts[2];
  for (const bool simulated : {false, true}) {
    try {
      static_cast<void>(run(g, {y}, feeds, 2, simulated ? std::optional<std::uint64_t>(1) : std::nullopt));
      FAIL("it has run");
    } catch (const Error& error) {
      CHECK(error.code() == Code::usage);
      texts[simulated ? 1 : 0] = error.text();
    }
  }
  CHECK(texts[0] == texts[1]);
}

// ---- A device that fails ----

std::atomic<int> launches;
int (*launch_there)(void*, const DeviceLaunch*);
const DeviceFailure* (*failure_there)(void*);
DeviceFailure lost{nullptr, static_cast<std::int32_t>(Code::peer_lost), -1, "the device has fallen off the bus"};

TEST_CASE("a device that fails in the middle of a step stops all tasks, and the op is named") {
  Graph g;
  Value x = g.input("x", DType::int32, {kElements});  // integers are not fused
  for (int task : {0, 1}) {
    const auto there = g.device("/task:" + std::to_string(task));
    for (int i = 0; i < 4; ++i) x = (x * 2).named("op" + std::to_string(task) + std::to_string(i));
  }
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 2, .jobs = "", .simulated = 1});
  DeviceTable table = *cluster.state().devices->table;
  launch_there = table.launch;
  failure_there = table.failure;
  launches = -1000;  // none fails
  table.launch = [](void* queue, const DeviceLaunch* launch) {
    if (++launches != 6) return launch_there(queue, launch);
    lost.tag = launch->tag;
    return -1;
  };
  table.failure = [](void* devices) { return launches < 6 ? failure_there(devices) : &lost; };
  cluster.state().devices->table = &table;
  Session session(g, cluster);
  const TensorMap feeds{{"x", Tensor(DType::int32, {kElements})}};
  static_cast<void>(session.run({x}, feeds));
  launches = 0;
  const Error error = test::error_of([&] { static_cast<void>(session.run({x}, feeds)); });
  CHECK(error.code() == Code::peer_lost);
  CHECK(test::says(error, "the device has fallen off the bus"));
  CHECK(test::says(error, "\"op11\" on task 1"));
}

}  // namespace
}  // namespace ferry
