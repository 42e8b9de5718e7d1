#include "runner/files/cluster_file.hpp"

#include <doctest/doctest.h>

#include "base/files/files.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

TEST_CASE("a cluster comes back from its text") {
  Topology topology = Topology::local(3, 2);
  topology.tasks[2].host = 1;
  topology.tasks[2].index_in_job = 2;
  topology.tasks[2].host_name = "node1";
  for (TaskInfo& task : topology.tasks) {
    task.host_memory_bytes = 1ULL << 36;
    task.memory_group = task.host;
  }
  topology.on_host = {1.25e-6, 9.5e9};
  topology.between_hosts = {2e-5, 1.1e9};
  topology.sums_on_host = {3e-6, 4e9};
  topology.compute = {.call = 61.5,
                      .wait = 3.1e6,
                      .memory_byte = 35,
                      .cache_byte = 9.125,
                      .cache_bytes = 1 << 22,
                      .product_flop = 9.1,
                      .convolution_flop = 11,
                      .reduction_flop = 60,
                      .element_flop = 40,
                      .parallel_flops = 0.9,
                      .parallel_bytes = 0.5};
  const test::TempFolder folder;
  const std::string path = folder / "c.pbtxt";
  local_files().write(path, cluster_text(topology, {"1.2.3", "Some CPU", "avx2"}));
  const DescribedCluster back = read_cluster(path);
  CHECK(back.has_costs);
  CHECK(back.origin == CostsOrigin{"1.2.3", "Some CPU", "avx2"});
  CHECK(back.topology.tasks == topology.tasks);
  CHECK(static_cast<const PlanningCosts&>(back.topology) == static_cast<const PlanningCosts&>(topology));
}

TEST_CASE("a file of hosts alone has no costs") {
  const test::TempFolder folder;
  const std::string path = folder / "c.pbtxt";
  local_files().write(path, std::string_view("host { name: \"h\" }"));
  const DescribedCluster back = read_cluster(path);
  CHECK_FALSE(back.has_costs);
  CHECK(static_cast<const PlanningCosts&>(back.topology) == PlanningCosts());
  CHECK(back.origin == CostsOrigin());
}

}  // namespace
}  // namespace ferry
