// Placement by itself of random networks: never slower than layouts that a user would write, by planned times.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/equal/planned_graph.hpp"
#include "tests/support/random_network.hpp"

namespace ferry::test {
namespace {

constexpr int kTasksPerHost = 8;

/// Hosts with up to 8 tasks, with 10 Gbit Ethernet between them.
Topology on_ethernet(int tasks) {
  Topology topology = Topology::local(tasks);
  for (int task = 0; task < tasks; ++task)
    topology.tasks[task].host = tasks > kTasksPerHost ? task / kTasksPerHost : task % 2;
  topology.between_hosts = {.latency_seconds = 30e-6, .bytes_per_second = 1.25e9};
  return topology;
}

/// One host whose tasks have links as fast as NVLink 4, and kernels that take a hundredth of a CPU's time.
Topology on_nvlink(int tasks) {
  Topology topology = Topology::local(tasks);
  topology.on_host = topology.gpus_on_host;
  ComputeCosts& costs = topology.compute;
  for (double* cost : {&costs.memory_byte, &costs.cache_byte, &costs.product_flop, &costs.convolution_flop,
                       &costs.reduction_flop, &costs.element_flop})
    *cost /= 100;
  return topology;
}

/// The planned time of a step. The plan is verified, and proved if placement chose its layouts.
double step_seconds(std::uint64_t seed, Annotated annotated, Placing placing, const Topology& topology) {
  RandomNetwork network;
  make_network(network, seed, annotated);
  const Signature signature = signature_of(network.graph, {network.loss}, network.updates);
  PlanOptions options;
  options.placing = placing;
  options.step_estimate = true;
  options.evaluate = computed_constant;
  const PlanResult result = make_plan(network.graph, signature, topology, all_kernels(), options);
  require_verified(result.plan);
  if (placing == Placing::automatic) {
    CHECK(result.placement->step_seconds == result.step->step_seconds);
    const Equality equality = compared(network.graph, signature, result.plan);
    CHECK_MESSAGE(equality.verdict == Equality::Verdict::equal, equality.reason);
  }
  return result.step->step_seconds;
}

/// FERRY_TEST_NETWORKS: how many networks, on 2, 4, 8 and 64 tasks each. Otherwise three, on 4 tasks.
TEST_CASE("placement by itself of random networks is not slower than the layouts of users") {
  const char* const asked = std::getenv("FERRY_TEST_NETWORKS");
  const std::uint64_t networks = asked == nullptr ? 3 : std::stoull(asked);
  const std::vector<int> sizes = asked == nullptr ? std::vector<int>{4} : std::vector<int>{2, 4, 8, 64};
  int much_faster = 0;
  for (std::uint64_t seed = 0; seed < networks; ++seed) {
    for (const bool ethernet : {true, false}) {
      for (const int tasks : sizes) {
        const Topology topology = ethernet ? on_ethernet(tasks) : on_nvlink(tasks);
        double best = std::numeric_limits<double>::max();
        for (const Annotated annotated : {Annotated::nowhere, Annotated::data_parallel, Annotated::tensor_parallel})
          best = std::min(best, step_seconds(seed, annotated, Placing::annotated, topology));
        const double chosen = step_seconds(seed, Annotated::nowhere, Placing::automatic, topology);
        MESSAGE("network " << seed << " on " << tasks << " tasks, " << std::string(ethernet ? "Ethernet" : "NVLink")
                           << ": " << chosen * 1e3 << " ms, " << chosen / best << " of the best written layouts");
        CHECK(chosen <= 1.02 * best);
        much_faster += chosen < 0.8 * best ? 1 : 0;
      }
    }
  }
  if (asked != nullptr) CHECK(much_faster >= 5);
}

}  // namespace
}  // namespace ferry::test
