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
  bool soft_placement = false;  ///< an op whose device lacks it may move to the CPU; each move is reported
  /// The device kind of ops whose annotation names none. Not given: GPUs if every task has one, else CPUs.
  std::optional<DeviceKind> default_device;
  bool reasons = false;  ///< Session::plan also gives the reasons
  std::function<void(const PassReport&)> on_pass =
      {};                     ///< called after each pass of planning, on the thread that plans
  bool check_passes = false;  ///< as PlanOptions::check_passes
  /// Sums that are made one after another share a message until they have so many bytes. 0: none does, nor does any
  /// message between hosts. Not given: as the topology's links suggest. The same on all tasks.
  std::optional<std::int64_t> bucket_bytes;
  /// Elementwise ops on at least so many elements are run together, a few elements at a time, and what only they use
  /// takes no memory; 0: none is. The same on all tasks.
  std::int64_t fuse_from = PlanOptions().fuse_from;
  /// Looks at every number that an op makes, and ends the job with Error(numeric), which names the first op, step and
  /// line, where one is NaN or Inf and what the op was given is not. Ops then run one by one (as with fuse_from = 0).
  bool check_numerics = false;
  const KernelTable* kernels = nullptr;  ///< null: the CPU's; else a copy of cpu_kernels() with your own, kept alive
  /// Null: ferry's ops; else a copy of default_ops() with your own, which must live on. A PlanSession checks by them
  /// what your kernels are given; it proves nothing of ops that are not there. A Session takes the ops from its graph.
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
  std::int64_t wire_messages = 0, wire_bytes = 0;  ///< that the transport sent for it, chunks and headers included
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
  /// The task at which the fetches arrive; the same on all tasks. Where the last stage of a pipeline keeps its results,
  /// the first one goes on to the next step without waiting for them.
  std::int32_t fetch_to = 0;
  /// Called on the process of `fetch_to` after each step with the fetches of that step (in the order of `fetches`).
  /// What it throws comes out of run() as it is. It also ends the run on other tasks that are not done with their steps
  /// yet (they may be ahead): there it is Code::program, unless it is an Error.
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
    double seconds = 0;                        ///< of a step; 0: not measured, for there is no other size
  };
  std::vector<Size> sizes;  ///< first what the session had, then those with other plans, each plan once
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

  /// One step; the fetched values, which arrive at task 0. On other tasks the tensors are undefined. Error(usage) for
  /// bad feeds or fetches (the session stays usable); any error while running ends the job on all tasks: this session
  /// is not used again, and the first call of a new one, which all tasks make, begins a new job of the cluster.
  std::vector<Tensor> run(const std::vector<Value>& fetches, const TensorMap& feeds = {});
  /// Steps inside the runtime; the fetches of the last one, defined where RunRequest::fetch_to says.
  std::vector<Tensor> run(const RunRequest& request);

  /// Measures `request` with buckets of several sizes, and uses the best from now on (SessionOptions::bucket_bytes).
  /// The session keeps what it has unless another size is 2 % faster. Task 0 measures and decides for all. The steps
  /// that it takes leave nothing behind: variables, the number of the next step, stats and traces are as before; Print
  /// prints nothing, and RunRequest::on_step is not called. Memory: a copy of the variables that a step writes. Errors
  /// as run(). All tasks call it.
  Tuned tune(const RunRequest& request, const TuneOptions& options = {});

  /// Variables by name: whole values, on task 0 (undefined elsewhere). All tasks call it.
  [[nodiscard]] TensorMap variables();
  /// Sets variables from task 0's tensors, broadcast and cut as their layouts say; Error(file) lists missing, extra and
  /// differing names. All tasks call it.
  void restore(const TensorMap& variables);

  /// Statistics of the last run. All tasks call it.
  [[nodiscard]] RunStats stats();
  /// The plan that `request` gives, for printing and saving; with SessionOptions::reasons also the reasons. All tasks
  /// call it.
  [[nodiscard]] const PlanResult& plan(const RunRequest& request);
  /// Waits for nothing, tells the others that this task is done, frees everything. run() afterwards is Error(usage).
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
