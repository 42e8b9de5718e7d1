// A session over MPI tasks that do not all say the same. Every task prints what it found; the exit code is 0 when all
// is as it should be.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "executor/session/session.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/doubled_sum.hpp"

namespace {

using namespace ferry;

int failures = 0;

void check(bool holds, const char* what, int rank) {
  if (holds) return;
  ++failures;
  std::printf("task %d: %s: failed\n", rank, what);
}

/// x is known to task 0 alone, and has another size in each run.
void feed_at_task_0(Session& session, const Value& total, int rank) {
  for (std::int64_t batch = 1; batch < 6; ++batch) {
    TensorMap feeds;
    if (rank == 0) feeds["x"] = Tensor::of<float>({batch}, std::vector<float>(static_cast<std::size_t>(batch), 2.0F));
    const Tensor got = session.run({total}, feeds)[0];
    check(rank == 0 ? got.defined() && got.number(0) == 4.0 * static_cast<double>(batch) : !got.defined(),
          "a feed known to task 0", rank);
    const RunStats stats = session.stats();
    for (const TaskStats& task : stats.tasks) check(task.measured == task.planned, "the traffic planned", rank);
  }
}

/// The fetch arrives at task 2 alone, step by step.
void fetch_at_task_2(Session& session, const Cluster& cluster, const Value& total) {
  RunRequest request;
  request.fetches = {total};
  request.fetch_to = 2;
  request.steps = 3;
  if (cluster.rank() == 0) request.feeds["x"] = Tensor::of<float>({1}, {4.0F});
  int seen = 0;
  request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) { seen += fetched[0].number(0) == 8.0 ? 1 : 0; };
  const Tensor got = session.run(request)[0];
  const auto here = cluster.local_tasks();
  const bool is_here = std::find(here.begin(), here.end(), 2) != here.end();
  check(is_here ? got.defined() && got.number(0) == 8.0 : !got.defined(), "a fetch at task 2", cluster.rank());
  check(seen == (is_here ? 3 : 0), "on_step where the fetch arrives", cluster.rank());
}

/// Task `other` asks for something else: all learn it, and the session can still be used.
void other_fetches(Session& session, const Value& total, const Value& doubled, int rank, int other) {
  TensorMap feeds;
  feeds["x"] = Tensor::of<float>({1}, {3.0F});
  std::string text;
  try {
    session.run({rank == other ? doubled : total}, feeds);
  } catch (const Error& error) {
    text = error.text();
    check(error.code() == Code::usage, "the code of different fetches", rank);
  }
  check(text.find("task " + std::to_string(other)) != std::string::npos, "different fetches name the task", rank);
  const Tensor got = session.run({total}, feeds)[0];
  check(rank != 0 || got.number(0) == 6.0, "the session after it", rank);
}

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, "nothing was thrown"};
}

bool says(const Error& error, const char* part) {
  return error.text().find(part) != std::string::npos;
}

/// What variables() gave, which is on task 0 alone, goes back as it is.
void restore_as_it_was(const Cluster& cluster) {
  Graph g;
  Value w, doubled;
  {
    const auto there = g.device("/task:1");
    w = g.variable("w", g.constant({1, 2, 3}));
    doubled = assign(w, w * 2);
  }
  Session session(g, cluster);
  const auto now = [&](double expected) {
    const Tensor got = session.run({w})[0];
    check(cluster.rank() != 0 || got.number(2) == expected, "a variable", cluster.rank());
  };
  session.run({doubled});
  const TensorMap saved = session.variables();
  session.run({doubled});
  now(12);
  session.restore(saved);
  now(6);
}

/// A run fails on all tasks, or on task 0 alone, after the others are done with it: sessions that are made after it
/// run, over the same cluster. Not where a process has several tasks.
void sessions_after_failures(const Cluster& cluster) {
  const int rank = cluster.rank();
  Graph g;
  const Value index = g.input("index", DType::int32, {1});
  Value picked;
  {
    const auto there = g.device("/task:1");
    picked = gather(g.constant({1, 2, 3}), index, 0) + 1;
  }
  const auto pick = [&](Session& session, std::int32_t i, decltype(RunRequest::on_step) on_step = {}) {
    RunRequest request;
    request.fetches = {picked};
    request.on_step = std::move(on_step);
    request.feeds["index"] = Tensor::of<std::int32_t>({1}, {i});
    const Tensor got = session.run(request)[0];
    check(rank != 0 || got.number(0) == i + 2, "what was picked", rank);
  };
  const bool renews = cluster.options().invariant == 0;
  const bool takes_part = cluster.process_of(rank) <= cluster.process_of(1);  // others may be done before it fails
  for (int round = 0; round < (renews ? 3 : 1); ++round) {
    Session failing(g, cluster);
    pick(failing, 1);
    const Error error = error_of([&] { pick(failing, 7); });
    check(!takes_part || (error.job_code() == Code::usage && says(error, "the index 7")), "the error", rank);
    const Error again = error_of([&] { pick(failing, 1); });
    check(says(again, takes_part ? "this session has failed" : "the index 7"), "the session that failed", rank);
    Session next(g, cluster);
    if (!renews) {
      const Error refused = error_of([&] { pick(next, 2); });
      check(refused.code() == Code::usage && says(refused, "cannot begin anew") && says(refused, "the index 7"),
            "a cluster that cannot begin anew", rank);
      return;
    }
    pick(next, 2);
    const Error thrown =
        error_of([&] { pick(next, 2, [](auto, auto) { throw Error(Code::program, "the callback"); }); });
    check((thrown.code() == Code::program) == (rank == 0), "what a callback threw", rank);
    Session last(g, cluster);
    for (std::int32_t i = 0; i < 3; ++i) pick(last, i);
    check(last.stats().tasks[1].measured == last.stats().tasks[1].planned, "the traffic after a failure", rank);
  }
}

/// Task 0 fails and its session is gone when a message of the failed run comes.
void late_messages(const Cluster& cluster) {
  if (cluster.options().invariant != 0) return;
  Graph g;
  const Value index = g.input("index", DType::int32, {1});
  Value late, total;
  {
    const auto there = g.device("/task:1");
    const Value m = uniform(g, Shape{700, 700});
    late = broadcast_to(reshape(sum(matmul(matmul(m, m), matmul(m, m))), {1}), {1000});
  }
  {
    const auto here = g.device("/task:0");
    total = sum(gather(g.constant({1.0, 2.0}), index, 0)) + cast(late, DType::float64);
  }
  const auto run = [&](Session& session, std::int32_t i) {
    (void)session.run({total}, {{"index", Tensor::of<std::int32_t>({1}, {i})}});
  };
  for (int round = 0; round < 5; ++round) {
    {
      Session failing(g, cluster);
      run(failing, 1);
      (void)error_of([&] { run(failing, 9); });
    }
    Session next(g, cluster);
    run(next, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Cluster cluster = Cluster::connect(argc, argv);
  const test::DoubledSum two("/task:1", "/task:2");
  Session session(two.graph, cluster);
  feed_at_task_0(session, two.total, cluster.rank());
  fetch_at_task_2(session, cluster, two.total);
  int other = 1;
  while (cluster.process_of(other) != 1) ++other;
  other_fetches(session, two.total, two.doubled, cluster.rank(), other);
  cluster.barrier();
  session.close();
  restore_as_it_was(cluster);
  late_messages(cluster);
  sessions_after_failures(cluster);
  return failures == 0 ? 0 : 1;
}
