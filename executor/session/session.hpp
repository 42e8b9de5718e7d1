// Session: runs a graph on a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/job/cluster.hpp"
#include "graph/graph.hpp"
#include "graph/types/tensor.hpp"
#include "placement/plan/plan.hpp"
#include "placement/planner.hpp"

namespace ferry {

class Checkpoints;
class Clock;
class KernelTable;
class TaskGroup;

struct SessionOptions {
  std::uint64_t seed = 0;
  std::string data_folder;      ///< the only folder that the graph's data ops may read; empty: none
  bool soft_placement = false;  ///< an op without a kernel on its device may move to the CPU; each move is reported
  /// The device kind of ops whose annotation names none. Not given: GPUs if every task has one, else CPUs.
  std::optional<DeviceKind> default_device;
  bool reasons = false;  ///< Session::plan also gives the reasons
  std::function<void(const PassReport&)> on_pass =
      {};                     ///< called after each pass of planning, on the thread that plans
  bool check_passes = false;  ///< as PlanOptions::check_passes
  /// Consecutive sums over tasks share a message until it has so many bytes. 0: no two values share a message, between
  /// hosts neither. Not given: the topology's links decide. The same on all tasks.
  std::optional<std::int64_t> bucket_bytes;
  /// Elementwise ops on at least so many elements are fused: run together, a few elements at a time, so that values
  /// between them need no buffers. 0: none is. The same on all tasks.
  std::int64_t fuse_from = PlanOptions().fuse_from;
  /// Checks the result of every op. Where it has NaN or Inf and the op's inputs do not, the job ends with
  /// Error(numeric), which names the op, step and line. Ops then run one by one (as with fuse_from = 0).
  bool check_numerics = false;
  /// Null: the CPU's kernels. Else a copy of cpu_kernels() with your own added, which must outlive the session.
  const KernelTable* kernels = nullptr;
  /// The ops by which plans are verified; of others the verifier proves nothing. Null: default_ops(). Else a copy of
  /// these with your own added, which must outlive the session. A Session plans with the ops of its graph.
  const OpSet* ops = nullptr;
  std::string trace_file;  ///< Chrome trace of all tasks, written by task 0 when the session closes
};

/// Named tensors, as fed and fetched.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// What one task did in the last step, and what its plan predicted.
struct TaskStats {
  int task = 0;
  int process = 0;  ///< the process that runs the task
  std::string host;
  int threads = 1;
  Traffic measured, planned;
  std::int64_t wire_messages = 0, wire_bytes = 0;  ///< sent by its transport, chunks and headers included
  std::uint64_t peak_bytes = 0, planned_peak_bytes = 0;
};

struct RunStats {
  std::uint64_t fingerprint = 0;
  std::int64_t steps = 0;
  double min_seconds = 0, median_seconds = 0, max_seconds = 0;  ///< of a step
  std::vector<TaskStats> tasks;                                 ///< of all tasks, on every task
};

/// A run: the values asked for, ops run for their effect, feeds, and the number of steps.
struct RunRequest {
  std::vector<Value> fetches;
  std::vector<Value> targets;
  TensorMap feeds;  ///< by name of the Input op
  std::int64_t steps = 1;
  /// The task at which the fetches arrive; the same on all tasks. If it is the last stage of a pipeline, the first
  /// stage goes on to the next step without waiting for them.
  std::int32_t fetch_to = 0;
  /// Called on the process of `fetch_to` after each step with the fetches of that step (in the order of `fetches`).
  /// What it throws comes out of run() as it is. It also ends the run on other tasks that have not finished their steps
  /// yet (they may be ahead): there run() throws Error(peer_lost), with job_code() Code::program, or the code of the
  /// Error that was thrown.
  std::function<void(std::int64_t step, std::span<const Tensor> fetched)> on_step;
  /// Saves between steps, and may stop the run there: Error(preempted), after which the session can be used. Null: no.
  Checkpoints* checkpoints = nullptr;
};

/// How Session::tune measures.
struct TuneOptions {
  std::int64_t steps = 0;  ///< of each measurement; 0: as many as take about 20 ms
  int rounds = 3;          ///< measurements of each size, of which the least counts
  Clock* clock = nullptr;  ///< null: system_clock(). Task 0 reads it, before and after each measurement
};

/// What Session::tune found, the same on all tasks.
struct Tuned {
  struct Size {
    std::optional<std::int64_t> bucket_bytes;  ///< as SessionOptions::bucket_bytes
    double seconds = 0;                        ///< of a step; 0: not measured, as there is only one size
  };
  std::vector<Size> sizes;  ///< first the session's own, then others; of those that give the same plan only one
  std::size_t chosen = 0;
};

/// Runs a graph, step by step; every process of the job makes the same calls. Used from one thread: a second run at
/// once is refused with Error(usage). Plans are made once for each (fetches, targets, feed types) and kept.
///
///     Session session(g, cluster);
///     Tensor c_now = session.run({c})[0];
class Session {
 public:
  /// The graph must outlive the session and not change while it lives.
  Session(const Graph& graph, const Cluster& cluster, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one step and returns the fetched values, which arrive at task 0. On other tasks the tensors are undefined.
  /// Error(usage) for bad feeds or fetches (the session stays usable); any error while running ends the job on all
  /// tasks: this session cannot be used again, and the first call of a new one, which all tasks make, restarts the job.
  std::vector<Tensor> run(const std::vector<Value>& fetches, const TensorMap& feeds = {});
  /// Runs all steps of the request; returns the fetches of the last one, defined where RunRequest::fetch_to says.
  std::vector<Tensor> run(const RunRequest& request);

  /// Measures `request` with buckets of several sizes, and uses the best from now on (SessionOptions::bucket_bytes).
  /// The session keeps its size unless another is 2 % faster. Task 0's times decide for all tasks. The measured steps
  /// leave nothing behind: variables, the number of the next step, stats and traces are as before; Print prints
  /// nothing, and RunRequest::on_step is not called. Memory: a copy of the variables that a step writes. Errors as
  /// run(). All tasks call it.
  Tuned tune(const RunRequest& request, const TuneOptions& options = {});

  /// Variables by name: whole values, on task 0 (undefined elsewhere). All tasks call it.
  [[nodiscard]] TensorMap variables();
  /// Sets variables from task 0's tensors, broadcast and cut as their layouts say; Error(file) lists missing, extra and
  /// differing names. All tasks call it.
  void restore(const TensorMap& variables);

  /// Statistics of the last run. All tasks call it.
  [[nodiscard]] RunStats stats();
  /// The plan of `request`, for printing and saving; with SessionOptions::reasons also the reasons. Valid until tune()
  /// or the session's end. All tasks call it.
  [[nodiscard]] const PlanResult& plan(const RunRequest& request);
  /// Frees the variables and buffers. run() afterwards is Error(usage). With SessionOptions::trace_file all tasks call
  /// it, and it writes the trace first, unless a run has failed.
  void close();

 private:
  friend class Checkpoints;
  [[nodiscard]] const Graph& graph() const;
  [[nodiscard]] TaskGroup& group() const;
  [[nodiscard]] std::uint64_t seed() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
