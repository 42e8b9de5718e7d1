// Sessions over MPI or TCP tasks that do not all feed, request or see the same. Every task prints the checks that
// failed; the exit code is 0 if none did.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "comm/backends.hpp"
#include "executor/session/session.hpp"
#include "kernels/kernel.hpp"
#include "ops/array/indexing.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/executor/doubled_sum.hpp"

namespace {

using namespace ferry;

int failures = 0;

void check(bool holds, const char* what, int rank) {
  if (holds) return;
  ++failures;
  std::printf("task %d: %s: failed\n", rank, what);
}

/// x is fed on task 0 alone, with another size in each run.
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

/// Task `other` requests another fetch: all tasks get an error, and the session can still be used.
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

/// Each task feeds values of its own: they are refused, in any run, and not lost.
void other_feeds(Session& session, const Value& total, int rank) {
  for (int run = 0; run < 2; ++run) {
    const Error error = error_of([&] {
      session.run({total}, {{"x", Tensor::of<float>({1}, {1.0F + static_cast<float>(rank)})}});
    });
    check(error.code() == Code::usage && says(error, "other values for the input 'x' than task 0"), "other feeds",
          rank);
    const Tensor got = session.run({total}, {{"x", Tensor::of<float>({1}, {3.0F})}})[0];
    check(rank != 0 || got.number(0) == 6.0, "the same feed on all tasks", rank);
    if (rank == 0) continue;
    const Error elsewhere = error_of([&] { static_cast<void>(got.number(0)); });
    check(says(elsewhere, "this value was fetched to task 0"), "a fetch of another task", rank);
  }
}

/// restore() takes what variables() gave, although only task 0 has it.
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

/// A run fails on all tasks, or on task 0 alone after the others are done with it: sessions that are made later over
/// the same cluster can run. Where a process has several tasks they are refused.
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
      check(refused.code() == Code::usage && says(refused, "cannot start again") && says(refused, "the index 7"),
            "a cluster that cannot start again", rank);
      return;
    }
    Error elsewhere(Code::ok, "");
    std::thread([&] { elsewhere = error_of([&] { pick(next, 2); }); }).join();
    check(elsewhere.code() == Code::usage && says(elsewhere, "from another thread than the one that made the Cluster"),
          "the first call on another thread", rank);
    pick(next, 2);
    const Error thrown =
        error_of([&] { pick(next, 2, [](auto, auto) { throw Error(Code::program, "the callback"); }); });
    check((thrown.code() == Code::program) == (rank == 0), "what a callback threw", rank);
    Session last(g, cluster);
    for (std::int32_t i = 0; i < 3; ++i) pick(last, i);
    check(last.stats().tasks[1].measured == last.stats().tasks[1].planned, "the traffic after a failure", rank);
  }
}

/// A kernel's state, which lives as long as the executor with its buffers does.
struct Counted final : KernelState {
  static inline int alive = 0;
  Counted() { ++alive; }
  ~Counted() override { --alive; }
};

constexpr OpDef kCounted{.name = "Counted", .types = "T->T", .T = kFloats, .index = "n->n"};
constexpr Kernel kCountedKernels[] = {
    {.op = "Counted",
     .run = [](KernelRun& run) { run.outputs[0].as<double>()[0] = run.inputs[0].as<double>()[0]; },
     .prepare = [](const KernelSetup&) -> std::unique_ptr<KernelState> { return std::make_unique<Counted>(); }}};

/// Between hosts MPI may still use the buffers of a run that has failed: they must live until the job starts again, and
/// no longer.
void buffers_of_failed_runs() {
  std::vector<std::unique_ptr<Transport>> end;
  end.push_back(mpi_transport());  // without shared memory
  const Cluster cluster = Cluster::over(std::move(end), {.threads = 1, .jobs = ""});
  KernelTable kernels = cpu_kernels();
  kernels.add(kCountedKernels);
  SessionOptions options;
  options.run.kernels = &kernels;
  Graph g;
  const Value index = g.input("index", DType::int32, {1});
  RunRequest request;
  {
    const auto here = g.device("/task:0");
    const Value inputs[] = {gather(g.constant({1.0, 2.0}), index, 0)};
    request.fetches = g.add(kCounted, inputs, {}, source_location::current());
  }
  Value x;
  {
    const auto everywhere = g.on(g.mesh("dp"));
    x = uniform(g, {3, 4}).laid({split(0)});
    const Value v = g.variable("v", uniform(g, {4, 4})), w = g.variable("w", uniform(g, {4, 4}));
    request.targets = sgd(sum(square(matmul(matmul(x, v), w))), {v, w}, 0.1);  // two gradients: tune() has a choice
  }
  request.feeds["index"] = Tensor::of<std::int32_t>({1}, {9});
  for (const bool tunes : {false, true}) {
    {
      Session failing(g, cluster, options);
      const Error error = error_of([&] { tunes ? (void)failing.tune(request) : (void)failing.run(request); });
      check(says(error, "the index 9"), "a run that fails", cluster.rank());
    }
    check(Counted::alive == (cluster.rank() == 0 ? 1 : 0), "the buffers of a failed run", cluster.rank());
    Session next(g, cluster, options);
    (void)next.run({x});
    check(Counted::alive == 0, "no buffers when the job has begun anew", cluster.rank());
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
  other_feeds(session, two.total, cluster.rank());
  cluster.barrier();
  session.close();
  restore_as_it_was(cluster);
  if (cluster.transport(cluster.rank()).name() == "mpi") buffers_of_failed_runs();
  sessions_after_failures(cluster);
  return failures == 0 ? 0 : 1;
}
