#include "executor/job/introduction.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

/// A task of a host with 100 bytes of memory and 4 cores, and what its control group allows; 0: it has no limit.
Introduction task(const char* host, const char* group, std::uint64_t group_bytes, int quota = Cores::kNoQuota) {
  Introduction it{.host_name = host, .proof = host, .mask = "0-3", .cores = 4, .lends = {}, .problem = {}};
  it.host_memory_bytes = 100;
  it.group_memory_bytes = group_bytes;
  it.memory_group = it.quota_group = group;
  it.quota = quota;
  return it;
}

TEST_CASE("the memory of tasks is that of their host or of their control group") {
  const auto together = topology_of({task("a", "g", 30), task("a", "g", 30), task("b", "", 0)}, {});
  CHECK(together.tasks[0].host_memory_bytes == 30);
  CHECK(together.tasks[1].host_memory_bytes == 30);
  CHECK(together.tasks[0].memory_bytes == 0);
  CHECK(together.tasks[2].host_memory_bytes == 100);
}

TEST_CASE("tasks in different control groups of a host have what each of the groups allows") {
  const auto apart = topology_of({task("a", "g", 30), task("a", "h", 40)}, {});
  CHECK(apart.tasks[0].host_memory_bytes == 70);
  CHECK(apart.tasks[1].host_memory_bytes == 70);
  CHECK(apart.tasks[0].memory_bytes == 30);
  CHECK(apart.tasks[1].memory_bytes == 40);
  const auto one_is_free = topology_of({task("a", "g", 30), task("a", "", 0)}, {});
  CHECK(one_is_free.tasks[0].host_memory_bytes == 100);
  CHECK(one_is_free.tasks[0].memory_bytes == 30);
  CHECK(one_is_free.tasks[1].memory_bytes == 0);
}

TEST_CASE("tasks in one control group share its quota of processor time") {
  CHECK(topology_of({task("a", "g", 0, 2), task("a", "g", 0, 2)}, {}).tasks[1].threads == 1);
  CHECK(topology_of({task("a", "g", 0, 2), task("a", "h", 0, 2)}, {}).tasks[1].threads == 2);
  CHECK(topology_of({task("a", "g", 0, 2), task("b", "g", 0, 2)}, {}).tasks[1].threads == 2);
}

TEST_CASE("the costs that task 0 has been given are the costs of the job") {
  std::vector<Introduction> tasks{task("a", "g", 0), task("a", "g", 0)};
  CHECK(static_cast<const PlanningCosts&>(topology_of(tasks, {})) == PlanningCosts());
  PlanningCosts costs;
  costs.between_hosts = {2e-6, 3e9};
  costs.compute.product_flop = 4;
  tasks[1].costs = costs;
  CHECK(static_cast<const PlanningCosts&>(topology_of(tasks, {})) == PlanningCosts());
  costs.compute.product_flop = 5;
  tasks[0].costs = costs;
  CHECK(static_cast<const PlanningCosts&>(topology_of(tasks, {})) == costs);
}

}  // namespace
}  // namespace ferry
