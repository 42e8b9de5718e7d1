// Clusters of several tasks in each process; threads stand for the processes.
#include <doctest/doctest.h>

#include <thread>

#include "base/system/log.hpp"
#include "comm/transport.hpp"
#include "executor/session/session.hpp"
#include "ops/control/state.hpp"
#include "placement/planner.hpp"
#include "tests/executor/doubled_sum.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// Calls body(process, transport, options) in two threads that stand for processes, both with --invariant=`shards`.
template <class Body>
void in_two(int shards, const Body& body) {
  auto ends = inproc_transports(2);
  std::vector<std::thread> processes;
  for (std::size_t process = 0; process < 2; ++process)
    processes.emplace_back([&, process] {
      std::vector<std::unique_ptr<Transport>> local;
      local.push_back(std::move(ends[process]));
      ClusterOptions options;
      options.threads = 1;
      options.invariant = shards;
      body(process, std::move(local), std::move(options));
    });
  for (std::thread& process : processes) process.join();
  log_task(-1);
}

TEST_CASE("processes run blocks of tasks; a feed known to the first comes from its first task") {
  in_two(5, [](std::size_t process, auto local, ClusterOptions options) {
    const Cluster cluster = Cluster::over(std::move(local), std::move(options));
    const std::vector<int> here = process == 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{3, 4};
    CHECK(std::vector<int>(cluster.local_tasks().begin(), cluster.local_tasks().end()) == here);
    CHECK(cluster.size() == 5);
    for (int task = 0; task < 5; ++task) CHECK(cluster.process_of(task) == (task < 3 ? 0 : 1));
    const test::DoubledSum two("/task:4", "/task:1");
    const Value& total = two.total;
    Session session(two.graph, cluster);
    TensorMap feeds;
    if (process == 0) feeds["x"] = Tensor::of<float>({2}, {1, 3});
    for (int i = 0; i < 3; ++i) {
      const Tensor got = session.run({total}, feeds)[0];
      CHECK((process == 0 ? got.number(0) == 8 : !got.defined()));
    }
    RunRequest request;
    request.fetches = {total};
    request.feeds = feeds;
    CHECK(session.plan(request).plan.feeds[0].task == 0);
    const RunStats stats = session.stats();
    REQUIRE(stats.tasks.size() == 5);
    for (const TaskStats& task : stats.tasks) CHECK(task.measured == task.planned);
    CHECK(stats.tasks[3].process == 1);
    session.close();
    cluster.barrier();
  });
}

TEST_CASE("what was fetched to another process cannot be read: the error names the task") {
  in_two(4, [](std::size_t process, auto local, ClusterOptions options) {
    const Cluster cluster = Cluster::over(std::move(local), std::move(options));
    Graph g;
    const Value w = g.variable("w", g.constant({1, 2}));
    Session session(g, cluster);
    RunRequest request;
    request.fetches = {w};
    for (const std::int32_t to : {0, 3}) {
      request.fetch_to = to;
      const Tensor got = session.run(request)[0];
      if (cluster.process_of(to) == static_cast<int>(process)) {
        CHECK(got.str() == "[1 2]");
        continue;
      }
      const Error error = test::error_of([&] { static_cast<void>(got.str()); });
      CHECK(error.code() == Code::usage);
      CHECK(test::says(error, "this value was fetched to task " + std::to_string(to)));
    }
    const TensorMap saved = session.variables();
    session.restore(saved);  // only task 0's are read
    const Error error = test::error_of([&] { static_cast<void>(saved.at("w").str()); });
    CHECK(error.code() == (process == 0 ? Code::ok : Code::usage));
    Session planned(session.plan(request).plan, cluster);
    planned.restore(saved);
    const Tensor got = planned.run(RunRequest())[0];
    CHECK(test::error_of([&] { static_cast<void>(got.str()); }).code() == (process == 1 ? Code::ok : Code::usage));
    if (process == 1)
      CHECK(test::says(test::error_of([&] { static_cast<void>(planned.variables()["w"].type()); }), "task 0"));
    if (process == 0) CHECK(planned.variables()["w"].str() == "[1 2]");
  });
}

TEST_CASE("an error of one task ends the tasks of all processes") {
  in_two(4, [](std::size_t process, auto local, ClusterOptions options) {
    const Cluster cluster = Cluster::over(std::move(local), std::move(options));
    Graph g;
    const Value x = g.input("x", DType::float32, {2});
    Value y;
    {
      const Scope there = g.device("/task:3");
      y = x + x;
    }
    Session session(g, cluster);
    RunRequest request;
    request.fetches = {y};
    request.steps = 1000;
    if (process == 0) {
      request.feeds["x"] = Tensor::of<float>({2}, {1, 3});
      request.on_step = [](std::int64_t step, auto) {
        if (step == 2) throw Error(Code::numeric, "that is enough");
      };
    }
    const Error error = test::error_of([&] { session.run(request); });
    CHECK(error.code() == (process == 0 ? Code::numeric : Code::peer_lost));
    CHECK(test::says(error, "that is enough"));
    if (process == 1) CHECK(test::says(error, "task 0 failed first"));
  });
}

TEST_CASE("calls that speak for one task are refused where there are several") {
  in_two(3, [](std::size_t process, auto local, ClusterOptions options) {
    const Cluster cluster = Cluster::over(std::move(local), std::move(options));
    std::vector<float> values = {1};
    const Error error = test::error_of([&] { cluster.all_reduce<float>(values); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, process == 0 ? "runs 2 of the job's 3 tasks" : "runs 1 of the job's 3 tasks"));
  });
}

TEST_CASE("more processes than shards, and other shards on another process, are refused") {
  in_two(1, [](std::size_t, auto local, ClusterOptions options) {
    const Error error = test::error_of([&] { static_cast<void>(Cluster::over(std::move(local), std::move(options))); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "there are 2 tasks to run it, more than its 1 shards"));
  });
  in_two(4, [](std::size_t process, auto local, ClusterOptions options) {
    options.invariant += static_cast<int>(process);
    const Error error = test::error_of([&] { static_cast<void>(Cluster::over(std::move(local), std::move(options))); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "--invariant differs: 4 on task 0, 5 on task 1"));
  });
}

TEST_CASE("options that must be alike and are not are named, with both values") {
  in_two(0, [](std::size_t process, auto local, ClusterOptions options) {
    options.alike = {{"--seed", "7"}};
    if (process == 1) options.alike["--save"] = "given";
    const Error error = test::error_of([&] { static_cast<void>(Cluster::over(std::move(local), std::move(options))); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "--save differs: not given on task 0, given on task 1"));
  });
}

TEST_CASE("tasks of one process share its threads and memory") {
  ClusterOptions options;
  options.tasks = 2;
  options.threads = 1;
  options.memory_bytes = 3000;
  options.invariant = 5;
  const Cluster cluster = Cluster::connect(options);
  CHECK(cluster.size() == 5);
  CHECK(cluster.topology().tasks[0].memory_bytes == 1000);
  CHECK(cluster.topology().tasks[4].memory_bytes == 1500);
  for (const TaskInfo& task : cluster.topology().tasks) CHECK(task.threads == 1);
}

}  // namespace
}  // namespace ferry
