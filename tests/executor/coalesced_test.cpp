// Plans with joined messages have the same bits as plans without, the traffic that was planned, and fewer messages.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "executor/session/session.hpp"
#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "plan/requirements.hpp"
#include "tests/executor/outcome.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry {
namespace {

TensorMap random_values(const Plan& plan, std::uint64_t seed) {
  test::Dice dice(seed);
  TensorMap values;
  for (const auto& [name, type] : variables_of(plan))
    values[name] = test::random_tensor(type.dtype, type.shape.sizes(), dice);
  return values;
}

test::Outcome run(const test::RandomMeshGraph& made, std::optional<std::int64_t> bucket_bytes, int threads) {
  Topology topology = made.topology;
  for (TaskInfo& task : topology.tasks) task.threads = threads;
  PlanOptions options;
  options.bucket_bytes = bucket_bytes;
  Signature signature;
  for (const Value& fetch : made.fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : made.targets) signature.targets.push_back(target.op().id());
  Plan plan = make_plan(*made.graph, signature, topology, cpu_kernels(), options).plan;
  const TensorMap values = random_values(plan, 7);
  Session session(std::move(plan),
                  Cluster::connect(ClusterOptions{.tasks = topology.size(), .threads = threads, .jobs = ""}));
  session.restore(values);
  const std::vector<Tensor> fetched = session.run(RunRequest{.steps = 2});
  return {session, fetched};
}

TEST_CASE("random graphs over several hosts have the same bits with joined messages and without") {
  int fewer = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const int tasks = 2 + static_cast<int>(seed % 3);
    const test::RandomMeshGraph made = test::random_mesh_graph(seed, {.ops = 16, .tasks = tasks, .hosts = tasks});
    const test::Outcome alone = run(made, 0, 1);
    for (const int threads : {1, 2}) {
      const test::Outcome joined = run(made, std::nullopt, threads);
      test::check_same_bits(alone, joined);
      CHECK(joined.bytes == alone.bytes);
      fewer += joined.messages < alone.messages ? 1 : 0;
    }
  }
  CHECK(fewer > 20);
}

}  // namespace
}  // namespace ferry
