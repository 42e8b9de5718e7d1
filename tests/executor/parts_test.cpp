// Inputs that are fed by parts, each task its own rows; threads stand for the processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kColumns = 3;

using Counts = std::vector<std::int64_t>;

/// Rows `begin` to `begin + count` of a matrix. All elements of the matrix are different.
Tensor rows_from(std::int64_t begin, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count * kColumns));
  std::iota(values.begin(), values.end(), static_cast<float>(begin * kColumns));
  return Tensor::of<float>({count, kColumns}, std::span<const float>(values));
}

/// The rows of the task; `counts` has the number of rows of each task.
Tensor rows_of(const Counts& counts, int task) {
  return rows_from(std::accumulate(counts.begin(), counts.begin() + task, std::int64_t{0}), counts[task]);
}

std::int64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// Where the input is annotated to be; `grid` is a mesh of two axes, for an even number of tasks.
enum class Place { nowhere, device, mesh, rows, columns, grid, grid_rows, some };
constexpr int kPlaces = 8;

/// The input x, doubled, and its sum.
struct Model {
  explicit Model(Place place) {
    const bool on_grid = place == Place::grid || place == Place::grid_rows;
    const MeshId mesh = on_grid                ? graph.mesh({{"d", 2}, {"m", Mesh::kOpen}})
                        : place == Place::some ? graph.mesh(Mesh{{{"t", 1}}, DeviceSpec::parse("/task:1")})
                                               : graph.mesh("t");
    std::optional<Scope> there;
    if (place == Place::device) there.emplace(graph.device("/task:1/cpu:0"));
    if (place != Place::device && place != Place::nowhere) there.emplace(graph.on(mesh));
    x = graph.add(kInput, {}, {{"dtype", DType::float32}, {"shape", Shape({"n", kColumns})}}, {"model.cpp", 7})[0]
            .named("x");
    if (place == Place::rows) x.laid({split(0)});
    if (place == Place::columns) x.laid({split(1)});
    if (place == Place::grid_rows) x.laid({split(0), replicated()});
    twice = x + x;
    total = sum(x);
  }
  Graph graph;
  Value x, twice, total;
};

/// The input is what all tasks give, whatever they give and wherever it is used.
void check_parts(Place place, const Counts& counts) {
  CAPTURE(static_cast<int>(place));
  CAPTURE(counts);
  test::in_processes(static_cast<int>(counts.size()), [&](int rank, const Cluster& cluster) {
    const Model model(place);
    Session session(model.graph, cluster);
    RunRequest request;
    request.fetches = {model.twice, model.total};
    request.feeds = {{"x", part(rows_of(counts, rank))}};
    request.steps = 2;
    const std::vector<Tensor> fetched = session.run(request);
    if (rank != 0) return;
    const Tensor whole = rows_from(0, sum_of(counts));
    const std::span<const float> twice = fetched[0].data<float>(), given = whole.data<float>();
    REQUIRE(fetched[0].sizes() == whole.sizes());
    CHECK(std::ranges::equal(twice, given, [](float a, float b) { return a == 2 * b; }));
    CHECK(fetched[1].number(0) == std::accumulate(given.begin(), given.end(), 0.0));
  });
}

TEST_CASE("an input is the parts of all tasks, even or not, wherever it is used") {
  for (int place = 0; place < kPlaces; ++place)
    for (const Counts& counts : std::vector<Counts>{{2, 2}, {3, 2}, {0, 5}, {5, 0}, {1, 0}, {0, 0}})
      check_parts(static_cast<Place>(place), counts);
  test::Dice dice(7);
  for (int round = 0; round < 40; ++round) {
    Counts counts(2 + 2 * dice.below(std::size_t{2}));
    for (std::int64_t& count : counts) count = dice.one_in(3) ? 0 : dice.below(std::int64_t{7});
    check_parts(static_cast<Place>(dice.below(kPlaces)), counts);
  }
}

void check_unsent(Place place) {
  test::in_processes(3, [&](int rank, const Cluster& cluster) {
    const Model model(place);
    Session session(model.graph, cluster);
    RunRequest request;
    request.fetches = {model.total};
    request.feeds = {{"x", part(rows_of({2, 1, 1}, rank))}};
    const Plan& plan = session.plan(request).plan;
    CHECK(plan.channels.empty());
    REQUIRE(plan.collectives.size() == 1);
    CHECK(std::accumulate(plan.collectives[0].parts.begin(), plan.collectives[0].parts.end(), std::int64_t{0}) == 1);
    CHECK(plan.classes.size() == 2);  // the others have the same number of rows
  });
}

TEST_CASE("even parts of a split input are not sent") {
  for (const Place place : {Place::nowhere, Place::mesh, Place::rows}) check_unsent(place);
}

TEST_CASE("a plan of parts is run from its file") {
  test::in_processes(3, [](int rank, const Cluster& cluster) {
    const Model model(Place::rows);
    RunRequest request;
    request.fetches = {model.total};
    request.feeds = {{"x", part(rows_of({2, 2, 1}, rank))}};
    Session planner(model.graph, cluster);
    Session session(decode_plan(encode_plan(planner.plan(request).plan), "memory"), cluster);
    const auto run = [&](const FeedMap& feeds) { return session.run({.feeds = feeds})[0]; };
    const auto refused = [&](const FeedMap& feeds, std::string_view text) {
      const Error error = test::error_of([&] { run(feeds); });
      CHECK(error.code() == Code::usage);
      CHECK(test::says(error, text));
    };
    for (const Counts& counts : {Counts{2, 2, 1}, Counts{0, 4, 1}, Counts{5, 0, 0}})
      if (const Tensor total = run({{"x", part(rows_of(counts, rank))}}); rank == 0) CHECK(total.number(0) == 105);
    refused({{"x", part(rows_of({2, 2, 2}, rank))}}, "the tasks give 6 rows of the input 'x'; the plan was made for 5");
    refused({{"x", rows_from(0, 5)}}, "the input 'x' is fed whole; the plan was made for parts of it");
    refused({{"x", part(Tensor(DType::float32, {2, 4}))}},
            "the feed 'x' is a part float32[2,4]; the plan was made for");
    refused(rank == 1 ? FeedMap() : FeedMap{{"x", part(rows_of({3, 0, 2}, rank))}},
            "task 1 gives no part of the input 'x', which is fed by parts\n  at model.cpp:7");
  });
}

TEST_CASE("parts that do not fit together are refused, and nothing is lost of the session") {
  test::in_processes(3, [](int rank, const Cluster& cluster) {
    const Model model(Place::rows);
    Session session(model.graph, cluster);
    const auto refused = [&](const FeedMap& feeds, std::string_view text) {
      const Error error = test::error_of([&] { session.run({model.total}, feeds); });
      CHECK(error.code() == Code::usage);
      CHECK(test::says(error, text));
      CHECK(test::says(error, "at model.cpp:7"));
    };
    const Tensor two = rows_from(0, 2);
    refused(rank == 2 ? FeedMap() : FeedMap{{"x", part(two)}},
            "task 2 gives no part of the input 'x', which is fed by parts");
    refused({{"x", rank == 1 ? Feed(two) : part(two)}},
            "task 1 feeds float32[2,3] for the input 'x', task 0 feeds a part float32[2,3]");
    refused({{"x", part(rank == 1 ? Tensor(DType::float32, {2, 4}) : two)}},
            "task 1 feeds a part float32[2,4] for the input 'x', task 0 feeds a part float32[2,3]");
    refused({{"x", part(Tensor::scalar(1.0F))}}, "a part of the feed 'x' is a scalar, which has no rows");
    refused({{"x", part(Tensor(DType::int32, {2, 3}))}}, "the feed 'x' is int32; the graph needs");
    refused({{"x", parts({two, two})}}, "the feed 'x' has 2 parts, and this process has 1 task");
    if (const Tensor total = session.run({model.total}, {{"x", part(two)}})[0]; rank == 0) CHECK(total.number(0) == 45);
  });
}

TEST_CASE("a process with several tasks gives a part for each") {
  const Model model(Place::rows);
  Session session(model.graph, Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""}));
  const Counts counts{4, 0, 1};
  std::vector<Tensor> of_tasks;
  for (int task = 0; task < 3; ++task) of_tasks.push_back(rows_of(counts, task));
  RunRequest request;
  request.fetches = {model.total};
  request.feeds = {{"x", parts(of_tasks)}};
  CHECK(session.plan(request).plan.feeds[0].by_parts());
  CHECK(session.run(request)[0].number(0) == 105);
  session.tune(request, {.steps = 1, .rounds = 1});
  CHECK(session.run(request)[0].number(0) == 105);
  CHECK(session.run({model.total}, {{"x", rows_from(0, 5)}})[0].number(0) == 105);
  const Error error = test::error_of([&] { session.run({model.total}, {{"x", part(of_tasks[0])}}); });
  CHECK(test::says(error, "the feed 'x' has 1 part, and this process has 3 tasks"));
}

/// The part of the doubled input that a task has. A mesh splits the value, or one task has it, or each task has all of
/// it.
Tensor part_of_twice(Place place, const Counts& counts, int task) {
  const auto tasks = static_cast<std::int64_t>(counts.size());
  Part rows{0, sum_of(counts)};
  if (place == Place::device) rows.size = task == 1 ? rows.size : -1;
  if (place == Place::nowhere || place == Place::mesh || place == Place::rows) rows = part_of(rows.size, tasks, task);
  if (rows.size < 0) return {};
  const Tensor given = rows_from(rows.begin, rows.size);
  std::vector<float> twice(given.data<float>().begin(), given.data<float>().end());
  for (float& value : twice) value *= 2;
  return Tensor::of<float>({rows.size, kColumns}, std::span<const float>(twice));
}

TEST_CASE("fetches stay where they are, by parts") {
  for (const Place place : {Place::nowhere, Place::device, Place::mesh, Place::rows})
    for (const Counts& counts : std::vector<Counts>{{2, 1, 1}, {0, 5, 0}, {3, 3, 3}})
      test::in_processes(3, [&](int rank, const Cluster& cluster) {
        CAPTURE(static_cast<int>(place));
        CAPTURE(counts);
        const Model model(place);
        Session session(model.graph, cluster);
        RunRequest request;
        request.fetches = {model.twice, model.total};
        request.feeds = {{"x", part(rows_of(counts, rank))}};
        request.fetch_parts = true;
        request.steps = 2;
        int calls = 0;
        request.on_step = [&](std::int64_t, std::span<const Tensor>) { ++calls; };
        const std::vector<Tensor> fetched = session.run(request);
        const Tensor expected = part_of_twice(place, counts, rank);
        REQUIRE(fetched.size() == 2);
        REQUIRE(fetched[0].defined() == expected.defined());
        CHECK(calls == (expected.defined() ? 2 : 0));
        if (!expected.defined()) return;
        CHECK(fetched[0].sizes() == expected.sizes());
        CHECK(std::ranges::equal(fetched[0].data<float>(), expected.data<float>()));
        const Tensor whole = rows_from(0, sum_of(counts));
        CHECK(fetched[1].number(0) == std::accumulate(whole.data<float>().begin(), whole.data<float>().end(), 0.0));
      });
}

TEST_CASE("fetches of parts send nothing, also from a plan's file; several tasks of a process each get theirs") {
  const Model model(Place::rows);
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""});
  Session session(model.graph, cluster);
  RunRequest request;
  request.fetches = {model.twice};
  request.feeds = {{"x", parts({rows_from(0, 2), rows_from(2, 2), rows_from(4, 1)})}};
  request.fetch_parts = true;
  const Plan& plan = session.plan(request).plan;
  CHECK((plan.channels.empty() && plan.collectives.empty()));
  Session from_plan(decode_plan(encode_plan(plan), "memory"), cluster);
  for (const std::vector<Tensor>& fetched : {session.run(request), from_plan.run({.feeds = request.feeds})}) {
    REQUIRE(fetched.size() == 3);
    for (std::size_t task = 0; task < 3; ++task) {
      CHECK(fetched[task].sizes() == std::vector<std::int64_t>{task == 2 ? 1 : 2, kColumns});
      CHECK(fetched[task].number(0) == static_cast<double>(12 * task));
    }
  }
  request.on_step = [](std::int64_t, std::span<const Tensor>) {};
  CHECK(
      test::says(test::error_of([&] { session.run(request); }), "on_step with fetch_parts, in a process with 3 tasks"));
}

/// Task t has a variable of counts[t] rows; `joined` has all rows on a mesh, the tasks in this order.
struct Joined {
  Joined(const Counts& counts, const std::vector<int>& order) {
    std::vector<Value> parts;
    for (int task = 0; task < std::ssize(counts); ++task) {
      const auto here = graph.device("/task:" + std::to_string(task));
      parts.push_back(graph.variable("x" + std::to_string(task), graph.constant(rows_of(counts, task))) * 2.0);
    }
    const auto all = graph.on(graph.mesh("t"));
    std::vector<Value> in_order;
    for (const int task : order) {
      in_order.push_back(parts[task]);
      const Tensor rows = rows_of(counts, task);
      for (const float x : rows.data<float>()) wanted.push_back(4 * x * x);
    }
    joined = concat(in_order, 0);
    squares = joined * joined;
    total = sum(squares);
  }
  Graph graph;
  Value joined, squares, total;
  std::vector<float> wanted;  // of squares
};

/// The bytes that all tasks send in a step that finds the total.
std::int64_t bytes_for_total(const Counts& counts, const std::vector<int>& order) {
  const Joined model(counts, order);
  const Cluster cluster =
      Cluster::connect(ClusterOptions{.tasks = static_cast<int>(counts.size()), .threads = 1, .jobs = ""});
  Session session(model.graph, cluster);
  const std::vector<Tensor> fetched = session.run({model.squares, model.total});
  CHECK(std::ranges::equal(fetched[0].data<float>(), model.wanted));
  CHECK(fetched[1].number(0) == std::accumulate(model.wanted.begin(), model.wanted.end(), 0.0));
  const Plan& plan = session.plan(RunRequest{.fetches = {model.total}}).plan;
  std::int64_t bytes = 0;
  for (int task = 0; task < cluster.size(); ++task) bytes += traffic_of(plan, task, 1).sent_bytes;
  return bytes;
}

TEST_CASE("a concatenation of one part of each task, in the order of the mesh, moves nothing") {
  CHECK(bytes_for_total({2, 2, 2}, {0, 1, 2}) < 100);
  CHECK(bytes_for_total({3, 2, 2}, {0, 1, 2}) < 100);
  CHECK(bytes_for_total({1, 1, 0}, {0, 1, 2}) < 100);
  CHECK(bytes_for_total({20, 20, 20}, {1, 0, 2}) > 1000);  // the order of other tasks
  CHECK(bytes_for_total({30, 20, 10}, {0, 1, 2}) > 1000);  // not the parts of a split value
}

TEST_CASE("tasks that differ in fetch_parts are refused") {
  test::in_processes(2, [](int rank, const Cluster& cluster) {
    const Model model(Place::rows);
    Session session(model.graph, cluster);
    RunRequest request;
    request.fetches = {model.total};
    request.feeds = {{"x", part(rows_from(2 * rank, 2))}};
    request.fetch_parts = rank == 1;
    CHECK(test::says(test::error_of([&] { session.run(request); }), "the tasks do not ask for the same"));
  });
}

TEST_CASE("in a job of one task its part is the whole value") {
  const Model model(Place::nowhere);
  Session session(model.graph, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}));
  CHECK(session.run({model.total}, {{"x", part(rows_from(0, 5))}})[0].number(0) == 105);
}

}  // namespace
}  // namespace ferry
