// The plans that a session keeps: ExecutionOptions::plan_cache_bytes.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

TEST_CASE("plans that were given up are made again, the same on all tasks") {
  test::in_processes(3, [](int rank, const Cluster& cluster) {
    Graph g;
    auto all = g.on(g.mesh("t"));
    const Value x = g.input("x", DType::float32, {"n"});
    const Value total = sum(x);
    Session session(g, cluster, {.run = {.plan_cache_bytes = 1}});
    for (int round = 0; round < 2; ++round)
      for (std::int64_t rows = 1; rows < 40; ++rows) {
        const Tensor values = Tensor::of<float>({rows}, std::vector<float>(static_cast<std::size_t>(rows), 1));
        const Tensor sum = session.run({total}, {{"x", values}})[0];
        if (rank == 0) CHECK(sum.number(0) == static_cast<double>(rows));
      }
  });
}

/// The resident memory of this process, in bytes.
std::int64_t resident() {
  std::int64_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST_CASE("memory stays flat however many shapes are fed") {
  constexpr std::int64_t kRows = 1 << 16, kShapes = 300;  // 512 kB for the steps of each plan
  Graph g;
  const Value x = g.input("x", DType::float32, {"n"});
  const Value total = sum(exp(x) * x);
  Session session(g, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}),
                  {.run = {.plan_cache_bytes = std::uint64_t{8} << 20}});
  const auto run = [&](std::int64_t shapes, std::int64_t rows) {
    for (std::int64_t shape = 0; shape < shapes; ++shape)
      CHECK(session.run({total}, {{"x", Tensor(DType::float32, {rows + shape})}})[0].number(0) == 0);
  };
  run(kShapes / 4, kRows);
  const std::int64_t before = resident();
  run(kShapes, kRows + kShapes);
  CHECK(resident() - before < std::int64_t{32} << 20);
}

TEST_CASE("tasks with other plan_cache_bytes are refused") {
  test::in_processes(2, [](int rank, const Cluster& cluster) {
    Graph g;
    const Value total = sum(g.input("x", DType::float32, {"n"}));
    Session session(g, cluster, {.run = {.plan_cache_bytes = rank == 0 ? 8U : 9U}});
    const Error error = test::error_of([&] { session.run({total}, {{"x", Tensor(DType::float32, {1})}}); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "the tasks have different plan_cache_bytes: 8 on task 0, 9 on task 1"));
  });
}

}  // namespace
}  // namespace ferry
