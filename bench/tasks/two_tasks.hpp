// Benchmarks between two tasks: each is measured by ferry and by hand-written MPI in the same two processes,
// one right after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/graphs/message_graphs.hpp"
#include "executor/job/cluster.hpp"
#include "executor/session/session.hpp"
#include "graph/graph.hpp"

namespace ferry::bench {

/// Both sides of a benchmark, as each rank calls them. A call returns its figure on rank 0, and any number on others.
/// Times are in microseconds.
struct Sides {
  std::function<double()> ferry, peer;
};

/// A chain that alternates between the tasks: each adds one to all the floats that it gets and sends them on. Gives the
/// time of one hop.
[[nodiscard]] Sides hop(const Cluster& cluster, std::int64_t bytes);
/// The same with 100 chains at once, of `bytes` bytes each: ferry sends what goes to the other task as one message.
/// Gives the time of one hop of all chains.
[[nodiscard]] Sides coalesced(const Cluster& cluster, std::int64_t bytes);
/// Task 0 makes floats; task 1 reads all of them, and answers with a single float. Gives the time of one round.
[[nodiscard]] Sides handover(const Cluster& cluster, std::int64_t bytes);
/// The tasks (two or more) make floats, all-reduce them, and make the next ones from the sums. Gives the time of one
/// round.
[[nodiscard]] Sides all_reduce(const Cluster& cluster, std::int64_t bytes);

/// Sums of floats by a direct call, without a graph, of memory that any program has, and of a LentBuffer. Gives the
/// time of one sum.
[[nodiscard]] Sides direct(const Cluster& cluster, std::int64_t bytes);
[[nodiscard]] Sides direct_lent(const Cluster& cluster, std::int64_t bytes);

/// A five-point stencil on rows of 1,024 floats, `bytes` bytes of them on each task, that get a row from each
/// neighbour. Gives the time of one round.
[[nodiscard]] Sides stencil(const Cluster& cluster, std::int64_t bytes);

/// For a machine with as many cores as there are tasks, while a thread of each task computes all the time. Measures the
/// time of a message that the other task waits for, and the share of its speed that the computing thread keeps.
[[nodiscard]] Sides wait_latency(const Cluster& cluster, std::int64_t);
[[nodiscard]] Sides wait_kept(const Cluster& cluster, std::int64_t);

/// METG(50 %) of a pattern of Task Bench, in microseconds. ferry runs on all ranks with one thread each, or on rank 0
/// alone with several; MPI runs on all ranks. There must be a core for each rank.
[[nodiscard]] Sides metg_of(const std::string& pattern, const Cluster& cluster, std::int64_t threads);

/// output[i] = input[i] * factor + added: what the hand-written sides compute.
void scale_and_add(float* output, const float* input, std::int64_t count, float factor, float added);

/// Microseconds of one call of `body`.
[[nodiscard]] double micros(const std::function<void()>& body);

/// A graph of a benchmark and the session that runs it.
struct Job {
  Graph graph;
  std::vector<Value> targets;
  std::unique_ptr<Session> session;
};
/// Runs the job's targets for steps + 1 steps, and gives the mean microseconds of all but the first. Valid on rank 0.
[[nodiscard]] double micros_of_step(Job& job, std::int64_t steps);
/// Sides that return the time of one round. ferry runs the job's targets (a step is `work.per_step` rounds) and does
/// not time the first step; `by_hand` does as many rounds as it is told.
[[nodiscard]] Sides sides_of(std::shared_ptr<Job> job, Work work, std::function<void(std::int64_t times)> by_hand);

}  // namespace ferry::bench
