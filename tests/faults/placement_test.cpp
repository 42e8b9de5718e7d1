// Faults of placement that need hardware or kernels other than this machine's, by their numbers.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/math/math.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

class NoTanhOnGpu final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override {
    static constexpr Kernel kAny{.op = "any", .takes = kAnyType};
    return kind == DeviceKind::cpu || op != "Tanh" ? &kAny : nullptr;
  }
};

/// The error of planning tanh(x) on `device`, for two tasks; the second has two GPUs.
Error refusal(std::string_view device) {
  Graph g;
  const Value x = g.constant({1.0, 2.0});
  const auto here = g.device(device);
  const Value y = tanh(x).named("y");
  Topology topology = Topology::local(2);
  topology.tasks[1].gpus = 2;
  Signature signature;
  signature.fetches = {y.id()};
  try {
    static_cast<void>(make_plan(g, signature, topology, NoTanhOnGpu()));
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, "planned"};
}

TEST_CASE("036 a GPU that is not there: lists those that are") {
  const Error error = refusal("/task:1/gpu:2");
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "there is no device /task:1/gpu:2"));
  CHECK(test::says(error, "task 1 has cpu:0 and gpu:0 to gpu:1"));
  CHECK(test::says(error, "--soft-placement"));
  CHECK(test::says(refusal("/task:0/gpu:0"), "task 0 has cpu:0; it has no GPU"));
}

TEST_CASE("037 no kernel for the device") {
  const Error error = refusal("/task:1/gpu:1");
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "there is no gpu kernel for"));
  CHECK(test::says(error, "y (Tanh)"));
  CHECK(test::says(error, "placement_test.cpp:"));
  CHECK(test::says(error, "--soft-placement"));
}

/// The messages about a plan by --device gpu --soft-placement, on `tasks` tasks; each of the first `gpus` tasks has a
/// GPU.
std::vector<std::string> moves(int tasks, int gpus) {
  Graph g;
  const Value x = g.constant({1.0, 2.0});
  const Value y = exp(x + x).named("y");
  Topology topology = Topology::local(tasks);
  for (int t = 0; t < tasks; ++t) topology.tasks[t].gpus = t < gpus ? 1 : 0;
  topology.tasks.back().no_gpus = "no driver";
  Signature signature;
  signature.fetches = {y.id()};
  PlanOptions options;
  options.soft_placement = true;
  options.default_device = DeviceKind::gpu;
  return make_plan(g, signature, topology, NoTanhOnGpu(), options).warnings;
}

TEST_CASE("036 no GPU for ops that name none: one line says that they are moved") {
  using Lines = std::vector<std::string>;
  const std::string moved = "moved ops that name no device from gpu:0 to cpu:0";
  CHECK(moves(1, 0) == Lines{moved + ": task 0 has no GPU (no driver)"});
  CHECK(moves(3, 0) == Lines{moved + " on 3 of 3 tasks: task 0 has no GPU"});
  CHECK(moves(3, 2) == Lines{moved + " on 1 of 3 tasks: task 2 has no GPU (no driver)"});
  CHECK(moves(2, 2).empty());
}

/// The plan of x * x + 1 on each of two tasks of one host, x of `elements` float32.
Plan squares(std::int64_t elements) {
  Graph g;
  Signature signature;
  for (const char* device : {"/task:0", "/task:1"}) {
    const auto here = g.device(device);
    const Value x = g.input("x" + std::string(device + 6), DType::float32, {elements});
    const Value y = (x * x + 1.0).named("y" + std::string(device + 6));
    signature.feeds.push_back({x.id(), device[6] - '0', {elements}});
    signature.targets.push_back(y.op().id());
  }
  return make_plan(g, signature, Topology::local(2), NoTanhOnGpu()).plan;
}

TEST_CASE("042 a plan that needs more memory than a task may have, with the largest values") {
  Plan plan = squares(1 << 20);
  CHECK(verify(plan).pass);  // nothing is known of the memory
  plan.topology.tasks[0].memory_bytes = 64 << 20;
  CHECK(verify(plan).pass);
  plan.topology.tasks[1].memory_bytes = 1 << 20;
  const Error refused = [&] {
    try {
      require_verified(plan);
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::ok, "planned");
  }();
  CHECK(refused.code() == Code::plan);
  CHECK(test::says(refused, "task 1 would need "));
  CHECK(test::says(refused, "may have 1 MiB (1048576 bytes)"));
  CHECK(test::says(refused, "'x1' float32[1048576]: 4 MiB at "));
  CHECK(test::says(refused, "placement_test.cpp:"));
  CHECK(test::says(refused, "--memory"));
}

TEST_CASE("042 tasks that fit one by one, and not together on their host") {
  Plan plan = squares(1 << 20);
  for (TaskInfo& task : plan.topology.tasks) task.host_memory_bytes = 14 << 20;
  const Verdict together = verify(plan);
  CHECK_FALSE(together.pass);
  CHECK(test::says(together.refusal(), "the tasks on host localhost would need "));
  CHECK(test::says(together.refusal(), "try: fewer tasks on a host, a smaller batch, or hosts with more memory"));
  CHECK_FALSE(test::says(together.refusal(), "--memory"));
  CHECK_FALSE(test::says(together.refusal(), "make the plan again"));
  plan.topology.tasks[1].host = 1;
  CHECK(verify(plan).pass);
}

TEST_CASE("042 sizes whose sum overflows are refused, not wrapped") {
  Plan plan = squares(4);
  for (TaskInfo& task : plan.topology.tasks) task.host_memory_bytes = 1 << 30;
  for (PlanClass& c : plan.classes) c.devices[0].state_bytes = UINT64_MAX - 8;
  CHECK_FALSE(verify(plan).pass);
}

}  // namespace
}  // namespace ferry
