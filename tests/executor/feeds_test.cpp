// Feeds that several processes give; threads stand for the processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "comm/transport.hpp"
#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/kernel.hpp"
#include "ops/array/array.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr int kProcesses = 3;
constexpr const char* kCure = "try: feed 'x' on one task only, or feed the same bytes on all tasks";

/// The sum of the fed rows.
struct Total {
  Total() {
    x = graph.add(kInput, {}, {{"dtype", DType::float32}, {"shape", Shape({"n", 2})}}, {"model.cpp", 7})[0].named("x");
    total = sum(x);
  }
  Graph graph;
  Value x, total;
};

TensorMap rows(std::int64_t count, float value) {
  return {{"x", Tensor::of<float>({count, 2}, std::vector<float>(static_cast<std::size_t>(2 * count), value))}};
}

/// The plan for the total of two rows of ones.
Plan plan_of_two_rows(const Total& model, const Cluster& cluster) {
  Session planner(model.graph, cluster);
  return planner.plan({.fetches = {model.total}, .feeds = rows(2, 1)}).plan;
}

template <class Call>
void check_refused(const Call& call, std::string_view text) {
  const Error error = test::error_of(call);
  CHECK(error.code() == Code::usage);
  CHECK(test::says(error, text));
  CHECK(test::says(error, kCure));
}

TEST_CASE("feeds that differ between processes are refused in any run, and nothing is lost of the session") {
  test::in_processes(kProcesses, [](int rank, const Cluster& cluster) {
    const Total model;
    Session session(model.graph, cluster);
    const auto total = [&](const TensorMap& feeds) { return session.run({model.total}, feeds)[0]; };
    const auto is = [&](const Tensor& got, double expected) { CHECK((rank != 0 || got.number(0) == expected)); };
    is(total(rows(2, 1)), 4);
    is(total(rows(2, 3)), 12);
    check_refused([&] { total(rows(2, static_cast<float>(rank / 2))); },
                  "task 2 feeds other values for the input 'x' than task 0\n  at model.cpp:7");
    check_refused([&] { total(rows(2, static_cast<float>(rank))); },
                  "tasks 1 and 2 feed other values for the input 'x' than task 0");
    check_refused([&] { total(rows(1 + rank / 2, 1)); },
                  "task 2 feeds float32[2,2] for the input 'x', task 0 feeds float32[1,2]\n  at model.cpp:7");
    check_refused([&] { total(rank == 0 ? TensorMap() : rows(2, static_cast<float>(rank))); },
                  "task 2 feeds other values for the input 'x' than task 1");
    is(total(rank == 1 ? rows(2, 5) : TensorMap()), 20);
    RunRequest many;
    many.fetches = {model.total};
    many.steps = 3;
    many.feeds = rows(2, static_cast<float>(rank));
    check_refused([&] { session.run(many); }, "tasks 1 and 2 feed");
    check_refused([&] { session.tune(many); }, "tasks 1 and 2 feed");
    is(total(rows(2, 2)), 8);
  });
}

TEST_CASE("seeds that differ between processes are refused") {
  test::in_processes(kProcesses, [](int rank, const Cluster& cluster) {
    const Total model;
    SessionOptions options;
    options.run.seed = rank == 2 ? 5 : 4;
    Session session(model.graph, cluster, options);
    const Error error = test::error_of([&] { session.run({model.total}, rows(2, 1)); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "the tasks have different seeds: 4 on task 0, 5 on task 2"));
  });
}

TEST_CASE("options of processes that decide what tasks exchange must be alike") {
  const auto refused = [](const ExecutionOptions& of_task_1, std::string_view said) {
    test::in_processes(2, [&](int rank, const Cluster& cluster) {
      const Total model;
      Session session(model.graph, cluster, {.run = rank == 1 ? of_task_1 : ExecutionOptions()});
      const Error error = test::error_of([&] { session.run({model.total}, rows(2, 1)); });
      CHECK(error.code() == Code::usage);
      CHECK_MESSAGE(test::says(error, said), error.text());
    });
  };
  refused({.check_numerics = true}, "the tasks have different check_numerics: 0 on task 0, 1 on task 1");
  refused({.replay_turns = "x"}, "the tasks have different replay_turns (1: given): 0 on task 0, 1 on task 1");
  constexpr std::string_view kTrace = "different trace_file or on_trace (1: given): 0 on task 0, 1 on task 1";
  refused({.trace_file = "trace.json"}, kTrace);
  refused({.on_trace = [](std::string_view) {}}, kTrace);
}

TEST_CASE("feeds of bounded sizes, of several inputs and of tasks that share a process are compared") {
  test::in_processes(kProcesses, [](int rank, const Cluster& cluster) {
    Graph g;
    const Value a = g.input("a", DType::float32, {1});
    const Value x =
        g.add(kInput, {}, {{"dtype", DType::float32}, {"shape", Shape({Dim::at_most(4), 2})}}, {"model.cpp", 7})[0]
            .named("x");
    const Value total = sum(x) + a;
    Session session(g, cluster);
    TensorMap feeds = rows(4, 1);
    feeds["a"] = Tensor::of<float>({1}, {10});
    CHECK((session.run({total}, feeds)[0].defined() == (rank == 0)));
    feeds["x"] = rows(4, rank == 1 ? -1.0F : 1.0F)["x"];
    check_refused([&] { session.run({total}, feeds); }, "task 1 feeds other values for the input 'x' than task 0");
  });
  test::in_processes(
      kProcesses,
      [](int rank, const Cluster& cluster) {
        const Total model;
        Session session(model.graph, cluster);
        CHECK((session.run({model.total}, rows(2, 1))[0].defined() == (rank == 0)));
        check_refused([&] { session.run({model.total}, rows(2, static_cast<float>(rank))); },
                      "tasks 2 and 4 feed other values for the input 'x' than task 0");
      },
      5);
}

TEST_CASE("a fed bool is 0 or 1") {
  Graph g;
  const Value b = g.input("b", DType::boolean, {2});
  Session session(g, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}));
  Tensor bools(DType::boolean, {2});
  CHECK(session.run({b}, {{"b", bools}})[0].number(1) == 0);
  bools.mutable_bytes()[1] = std::byte{2};
  const Error error = test::error_of([&] { session.run({b}, {{"b", bools}}); });
  CHECK(error.code() == Code::usage);
  CHECK(test::says(error, "the feed 'b' has bools other than 0 and 1"));
}

TEST_CASE("a bounded input takes any feed up to its bound, with one plan") {
  for (const int tasks : {1, 2}) {
    Graph g;
    const Value x =
        g.add(kInput, {}, {{"dtype", DType::float32}, {"shape", Shape({Dim::at_most(4), 2})}}, {"model.cpp", 7})[0]
            .named("x");
    std::optional<Scope> other;
    if (tasks > 1) other.emplace(g.device("/task:1"));
    const Value twice = x + x, total = sum(x);
    other.reset();
    Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}),
                    {.run = {.check_numerics = tasks == 1}});
    const auto request = [&](std::int64_t count) {
      RunRequest request;
      request.fetches = {twice, total};
      request.feeds = rows(count, 1.5F);
      return request;
    };
    const PlanResult* const plan = &session.plan(request(4));
    for (const std::int64_t count : {4, 1, 3, 0, 4}) {
      CHECK(&session.plan(request(count)) == plan);
      const std::vector<Tensor> fetched = session.run(request(count));
      CHECK(fetched[0].sizes() == std::vector<std::int64_t>{count, 2});
      CHECK(std::ranges::all_of(fetched[0].data<float>(), [](float value) { return value == 3; }));
      CHECK(fetched[1].number(0) == 3 * static_cast<double>(count));
    }
    const Error error = test::error_of([&] { session.run(request(5)); });
    CHECK(test::says(error, "the feed 'x' has shape [5,2]; the graph needs float32[<=4,2]\n  at model.cpp:7"));
    Session from_plan(session.plan(request(2)).plan,
                      Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}));
    CHECK(from_plan.run({.feeds = rows(3, 1)})[1].number(0) == 6);
    const Error large = test::error_of([&] { from_plan.run({.feeds = rows(5, 1)}); });
    CHECK(test::says(large, "the feed 'x' is float32[5,2]; the plan was made for float32[<=4,2]"));
    const Error part_of = test::error_of([&] { session.run({total}, {{"x", parts({rows(1, 1)["x"], {}})}}); });
    CHECK(test::says(part_of, tasks == 1 ? "has 2 parts" : "has a bounded number of rows, and is fed by parts"));
  }
}

TEST_CASE("a plan for types of feeds is made in a job of several processes") {
  test::in_processes(kProcesses, [](int, const Cluster& cluster) {
    const Total model;
    Session session(model.graph, cluster);
    RunRequest request;
    request.fetches = {model.total};
    request.feed_types = {{"x", Type{DType::float32, Shape{4, 2}}}};
    CHECK(session.plan(request).plan.feeds[0].sizes == std::vector<std::int64_t>{4, 2});
  });
}

TEST_CASE("a plan's feeds are compared, also those that it does not take") {
  test::in_processes(kProcesses, [](int rank, const Cluster& cluster) {
    const Total model;
    Session session(plan_of_two_rows(model, cluster), cluster);
    CHECK((session.run({}, rows(2, 1))[0].defined() == (rank == 0)));
    check_refused([&] { session.run({}, rows(2, static_cast<float>(rank))); },
                  "tasks 1 and 2 feed other values for the input 'x' than task 0\n  at model.cpp:7");
    CHECK((session.run({}, rank == 0 ? rows(2, 1) : TensorMap())[0].defined() == (rank == 0)));
  });
}

TEST_CASE("plans with other feeds on another process are refused as different plans") {
  test::in_processes(2, [](int rank, const Cluster& cluster) {
    Graph g;
    const Value x = g.input("x", DType::float32, {2}), z = g.input("z", DType::float32, {2});
    const auto plan_of = [&](const Value& value) {
      Signature signature;
      signature.fetches.push_back(value.id());
      signature.feeds.push_back({x.id(), 0, {2}});
      if (rank == 1) signature.feeds.push_back({z.id(), 0, {2}});
      return make_plan(g, signature, Topology::local(2), cpu_kernels(), {}).plan;
    };
    Session session(plan_of(rank == 0 ? sum(x) : sum(x + z)), cluster);
    TensorMap feeds = {{"x", Tensor::of<float>({2}, {1, 2})}, {"z", Tensor::of<float>({2}, {3, 4})}};
    const Error error = test::error_of([&] { session.run({}, feeds); });
    CHECK(error.code() == Code::plan);
    CHECK(test::says(error, "different plans"));
  });
}

TEST_CASE("a plan's steps are the same on all tasks") {
  test::in_processes(2, [](int rank, const Cluster& cluster) {
    const Total model;
    Session session(plan_of_two_rows(model, cluster), cluster);
    RunRequest steps;
    steps.feeds = rows(2, 1);
    steps.steps = 2 + rank;
    const Error error = test::error_of([&] { session.run(steps); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "task 0 runs 2 steps, task 1 3"));
    steps.steps = 2;
    CHECK((session.run(steps)[0].defined() == (rank == 0)));
  });
}

TEST_CASE("a step in which one process feeds exchanges no hashes") {
  test::in_processes(kProcesses, [](int rank, const Cluster& cluster) {
    const Total model;
    Session session(model.graph, cluster);
    const auto sent = [&](const TensorMap& feeds) {
      const std::int64_t before = cluster.transport(rank).sent().messages;
      session.run({model.total}, feeds);
      return cluster.transport(rank).sent().messages - before;
    };
    sent(rows(2, 1));
    const std::int64_t of_one = sent(rank == 0 ? rows(2, 1) : TensorMap()), of_all = sent(rows(2, 1));
    const std::int64_t before = cluster.transport(rank).sent().messages;
    static_cast<void>(cluster.exchange(""));
    const std::int64_t of_exchange = cluster.transport(rank).sent().messages - before;
    CHECK(of_one == of_exchange);
    CHECK(of_all == 2 * of_exchange);
  });
}

}  // namespace
}  // namespace ferry
