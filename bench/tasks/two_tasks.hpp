// Benchmarks between two tasks: each is measured by ferry and by hand-written MPI in the same two processes,
// one right after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/job/cluster.hpp"
#include "executor/session/session.hpp"
#include "graph/graph.hpp"

namespace ferry::bench {

/// Both sides of a benchmark, as one rank runs them. Each returns its figure on rank 0, and any number on the others.
struct Sides {
  std::function<double()> ferry, peer;
};

/// A chain that alternates between the tasks: each adds one to all the floats that it gets and hands them on. Time of
/// one hop.
[[nodiscard]] Sides hop(const Cluster& cluster, std::int64_t bytes);
/// The same with 100 chains at once, of so many bytes each: all of a task's messages go to the other one in one go.
/// Time of one hop of all.
[[nodiscard]] Sides coalesced(const Cluster& cluster, std::int64_t bytes);
/// Task 0 makes floats, task 1 reads them all, and answers with one of them. Time of one round.
[[nodiscard]] Sides handover(const Cluster& cluster, std::int64_t bytes);
/// Both tasks make floats, get the sums of both, and make the next ones from these. Time of one round.
[[nodiscard]] Sides all_reduce(const Cluster& cluster, std::int64_t bytes);

/// A thread of each task computes all the time, on as many cores as there are tasks: how long a message takes that the
/// other task waits for, in microseconds, and how much of the computing is left, in percent.
[[nodiscard]] Sides wait_latency(const Cluster& cluster, std::int64_t);
[[nodiscard]] Sides wait_kept(const Cluster& cluster, std::int64_t);

/// METG(50 %) of a pattern of Task Bench, in microseconds: for ferry on all ranks with one thread each, or on rank 0
/// alone with several; for MPI on all ranks. It needs one core for each rank.
[[nodiscard]] Sides metg_of(const std::string& pattern, const Cluster& cluster, std::int64_t threads);

/// The number of steps, and how often each step does what is measured.
struct Work {
  std::int64_t steps = 1;
  std::int64_t per_step = 1;
};
/// Enough work with messages of so many bytes to be timed well, in few enough instructions for the caches.
[[nodiscard]] Work work_for(std::int64_t bytes);

/// output[i] = input[i] * factor + added: the work of hand-written programs.
void scale_and_add(float* output, const float* input, std::int64_t count, float factor, float added);

/// Microseconds of one call of `body`.
[[nodiscard]] double micros(const std::function<void()>& body);

/// A graph of a benchmark and the session that runs it.
struct Job {
  Graph graph;
  std::vector<Value> targets;
  std::unique_ptr<Session> session;
};
/// Microseconds of a step of the job's targets, the mean of so many without the first, on rank 0.
[[nodiscard]] double micros_of_step(Job& job, std::int64_t steps);
/// The time of what both do `per_step` times in each step: ferry runs the job's targets (the first step does not
/// count), `by_hand` does it as often as it is told.
[[nodiscard]] Sides sides_of(std::shared_ptr<Job> job, Work work, std::function<void(std::int64_t times)> by_hand);

}  // namespace ferry::bench
