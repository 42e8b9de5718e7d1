// Benchmarks between two tasks. ferry and hand-written MPI run each benchmark in the same two processes, one right
// after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/graphs/message_graphs.hpp"
#include "executor/cluster.hpp"
#include "executor/session/session.hpp"
#include "graph/graph.hpp"

namespace ferry::bench {

/// Both sides of a benchmark. Each rank calls both. A call returns its figure on rank 0, and any number on other ranks.
/// Times are in microseconds.
struct Sides {
  std::function<double()> ferry, peer;
};

/// A chain that alternates between the tasks: each task receives floats, adds one to all of them, and sends them back.
/// Returns the time of one hop.
[[nodiscard]] Sides hop(const Cluster& cluster, std::int64_t bytes);
/// Like hop(), with 100 chains at once, of `bytes` bytes each. ferry sends the values of all chains in one message.
/// Returns the time of one hop of all chains.
[[nodiscard]] Sides coalesced(const Cluster& cluster, std::int64_t bytes);
/// Task 0 makes floats; task 1 reads all of them, and answers with a single float. Returns the time of one round.
[[nodiscard]] Sides handover(const Cluster& cluster, std::int64_t bytes);
/// Two or more tasks make floats, all-reduce them, and make the next floats from the sums. Returns the time of one
/// round.
[[nodiscard]] Sides all_reduce(const Cluster& cluster, std::int64_t bytes);

/// All-reduces of floats by a direct call, without a graph: direct() uses ordinary memory, direct_lent() uses a
/// LentBuffer. Returns the time of one all-reduce.
[[nodiscard]] Sides direct(const Cluster& cluster, std::int64_t bytes);
[[nodiscard]] Sides direct_lent(const Cluster& cluster, std::int64_t bytes);

/// A five-point stencil on rows of 1,024 floats, with `bytes` bytes of rows on each task. Each task receives a row from
/// each neighbour. Returns the time of one round.
[[nodiscard]] Sides stencil(const Cluster& cluster, std::int64_t bytes);

/// The cost of waiting on a machine with one core for each task, while a thread of each task computes all the time.
/// wait_latency() measures the time of a message for which the other task waits. wait_kept() measures the share of its
/// speed that the computing thread keeps.
[[nodiscard]] Sides wait_latency(const Cluster& cluster, std::int64_t);
[[nodiscard]] Sides wait_kept(const Cluster& cluster, std::int64_t);

/// METG(50 %) of a pattern of Task Bench, in microseconds. ferry runs on all ranks with one thread each, or only on
/// rank 0 with several threads; MPI runs on all ranks. Each rank must have a core.
[[nodiscard]] Sides metg_of(const std::string& pattern, const Cluster& cluster, std::int64_t threads);

/// output[i] = input[i] * factor + added. The hand-written sides compute this.
void scale_and_add(float* output, const float* input, std::int64_t count, float factor, float added);

/// Microseconds of one call of `body`.
[[nodiscard]] double micros(const std::function<void()>& body);

/// A graph of a benchmark and the session that runs it.
struct Job {
  Graph graph;
  std::vector<Value> targets;
  std::unique_ptr<Session> session;
};
/// Runs the job's targets for steps + 1 steps, and returns the mean microseconds of all steps except the first. Valid
/// on rank 0.
[[nodiscard]] double micros_of_step(Job& job, std::int64_t steps);
/// Sides that return the time of one round. ferry runs the job's targets (a step is `work.per_step` rounds) and does
/// not time the first step; `by_hand` runs `times` rounds.
[[nodiscard]] Sides sides_of(std::shared_ptr<Job> job, Work work, std::function<void(std::int64_t times)> by_hand);

}  // namespace ferry::bench
