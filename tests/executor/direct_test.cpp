#include <doctest/doctest.h>

#include "executor/job/cluster.hpp"

namespace ferry {
namespace {

TEST_CASE("direct calls of one task give its own values") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  std::vector<float> values = {1.5F, -2.0F, 0.0F};
  cluster.all_reduce<float>(values);
  cluster.all_reduce_mean<float>(values);
  cluster.broadcast<float>(values);
  CHECK(values == std::vector<float>{1.5F, -2.0F, 0.0F});
  CHECK(cluster.all_gather<float>(values) == values);
  CHECK(cluster.all_gather<float>({}).empty());
  CHECK_THROWS_WITH_AS(cluster.broadcast<float>(values, 1), "broadcast: root 1 is not one of the 1 tasks", Error);
}

TEST_CASE("a task's number on its host counts the tasks before it there") {
  const Cluster one = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  CHECK(one.local_rank() == 0);
  CHECK(one.local_size() == 1);
  const Cluster spread = Cluster::connect(ClusterOptions{.tasks = 5, .threads = 1, .jobs = "", .hosts = 2});
  CHECK(spread.local_rank() == 0);
  CHECK(spread.local_size() == 3);
}

TEST_CASE("direct calls need one task in each process") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""});
  std::vector<double> values = {1};
  try {
    cluster.all_reduce<double>(values);
    FAIL("all_reduce spoke for three tasks");
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    CHECK(error.text().starts_with(
        "all_reduce: this process has 3 of the job's 3 tasks, and one call cannot speak for all of them"));
  }
}

}  // namespace
}  // namespace ferry
