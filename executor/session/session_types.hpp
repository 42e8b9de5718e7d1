// The options, requests and results of a Session (session.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/execution_options.hpp"
#include "executor/watch/slow_link.hpp"
#include "executor/watch/straggler.hpp"
#include "graph/graph.hpp"
#include "graph/types/tensor.hpp"
#include "plan/device_work.hpp"
#include "plan/planning_options.hpp"
#include "plan/traffic.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class CheckpointSaver;
class Clock;
class Session;

/// How a session plans and runs. A session that is made from a plan uses only `run`.
///
///     Session session(g, cluster, {.plan = {.bucket_bytes = 0}, .run = {.seed = 7}});
struct SessionOptions {
  PlanningOptions plan = {};  ///< for making plans
  ExecutionOptions run = {};  ///< for running them
};

/// Named tensors, as fetched and restored.
///
///     TensorMap variables = session.variables();
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// The value of an input in a run: a tensor, or parts(), for which each task gives its own rows.
class Feed {
 public:
  Feed() = default;
  /// The whole value.
  Feed(Tensor whole) : tensors_{std::move(whole)} {}  // NOLINT: a tensor is a feed

  /// Whether the feed was made by part() or parts().
  [[nodiscard]] bool by_parts() const { return by_parts_; }
  /// The whole value, or the parts of the process's tasks, in the order of Cluster::local_tasks().
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The tensor that task `local_task` of the process gives; undefined if it gives no part.
  [[nodiscard]] Tensor of(std::size_t local_task) const {
    const std::size_t index = by_parts_ ? local_task : 0;
    return index < tensors_.size() ? tensors_[index] : Tensor();
  }

 private:
  friend Feed parts(std::vector<Tensor> of_tasks);

  std::vector<Tensor> tensors_;
  bool by_parts_ = false;
};

/// Feeds an input by its rows (dim 0): each task gives its own rows, and the input is the rows of all tasks, in the
/// order of the tasks. Every task of the input's mesh must give a part, of any number of rows, also 0; else run()
/// throws Error(usage). An input without a mesh is split over all tasks. If the numbers of rows are as in split(0)
/// (equal, or one more on the first tasks), no row is sent. Otherwise rows that other tasks need are sent to all tasks
/// before the first step. Bounded inputs are fed whole.
///
///     Tensor scores = session.run({y}, {{"x", part(rows)}})[0];
///
/// part() is for a process with one task. parts() is for a process with several tasks, and takes a tensor for each of
/// them.
[[nodiscard]] Feed parts(std::vector<Tensor> of_tasks);
[[nodiscard]] inline Feed part(Tensor rows) {
  return parts({std::move(rows)});
}

/// Feeds by the names of the inputs.
///
///     FeedMap feeds = {{"x", Tensor::of<float>({2}, {1, 2})}};
///     feeds["y"] = Tensor::scalar(3.0f);
///     feeds.size();  // 2
class FeedMap : public std::map<std::string, Feed, std::less<>> {
 public:
  using std::map<std::string, Feed, std::less<>>::map;
  FeedMap() = default;
  FeedMap(std::initializer_list<value_type> feeds) : map(feeds) {}
  FeedMap(const TensorMap& tensors) : map(tensors.begin(), tensors.end()) {}  // NOLINT: whole values
};

/// The work that a task gave one of its devices besides the host in the last step, and the prediction of its plan.
struct DeviceStats {
  std::string device;  ///< "gpu:0"
  /// Both are equal, except for replays: fewer replays are measured as long as nothing is captured, as in a first step.
  DeviceWork measured, planned;
  std::uint64_t peak_bytes = 0, planned_peak_bytes = 0;  ///< the part of TaskStats::peak_bytes on this device
};

/// The counters of one task in the last step, and the prediction of its plan.
///
///     RunStats stats = session.stats();
///     for (const TaskStats& task : stats.tasks) std::cout << task.host << ": " << task.peak_bytes << " bytes\n";
struct TaskStats {
  int task = 0;                                          ///< number of the task in the job
  int process = 0;                                       ///< the process that runs the task
  std::string host;                                      ///< name of its host
  int threads = 1;                                       ///< number of its threads
  Traffic measured, planned;                             ///< messages, bytes and copies of the step
  std::int64_t wire_messages = 0, wire_bytes = 0;        ///< traffic of the transport, including chunks and headers
  std::uint64_t peak_bytes = 0, planned_peak_bytes = 0;  ///< memory of the values, on the host and the devices
  /// Seconds per step, medians over the timed steps; 0 if no step was timed, as in a job of one task or a run of few
  /// steps.
  double computing_seconds = 0, waiting_seconds = 0;
  std::vector<DeviceStats> devices;  ///< its devices besides the host
};

/// Statistics of the last run of a session. If the run had several plans, they are about the plan with the most steps
/// in a row.
///
///     RunStats stats = session.stats();
///     std::cout << stats.steps << " steps, median " << stats.median_seconds << " s\n";
struct RunStats {
  std::uint64_t fingerprint = 0;                                ///< hash of the plan, ferry's build and its kernels
  std::int64_t steps = 0;                                       ///< number of measured steps
  double min_seconds = 0, median_seconds = 0, max_seconds = 0;  ///< of a step, measured on task 0
  std::vector<TaskStats> tasks;                                 ///< of all tasks, on every task
  std::vector<Straggler> stragglers;                            ///< the tasks that the others wait for, ascending
  std::vector<SlowLink> slow_links;                             ///< the links that tasks wait for, ascending
};

/// The interface to Checkpoints (checkpoints.hpp) that the session uses.
class RunCheckpoints {
 public:
  [[nodiscard]] virtual CheckpointSaver& saver() const = 0;
  [[nodiscard]] virtual const Session& session() const = 0;
  /// Throws Error(preempted) if the run has saved and stopped on request.
  virtual void require_not_stopped() const = 0;

 protected:
  ~RunCheckpoints() = default;
};

/// A run: the values to return, the ops to run for their effect, the feeds, and the number of steps.
///
///     RunRequest request{.fetches = {loss}, .targets = updates, .steps = 100};
///     request.on_step = [](std::int64_t step, std::span<const Tensor> fetched) {
///       std::cout << "step " << step << ": loss " << fetched[0].str() << "\n";
///     };
///     session.run(request);
struct RunRequest {
  std::vector<Value> fetches = {};  ///< values to return
  std::vector<Value> targets = {};  ///< results of ops to run for their effect, such as assign()
  FeedMap feeds = {};               ///< by name of the Input op
  /// More feeds, known only by their types. They suffice for plan(); other functions throw Error(usage).
  std::map<std::string, Type> feed_types = {};
  std::int64_t steps = 1;  ///< number of steps to run
  /// The task at which the fetches arrive; the same on all tasks. If the last stage of a pipeline keeps its results,
  /// the first stage need not wait for them before the next step.
  std::int32_t fetch_to = 0;
  /// Each task gets its part of each fetch, and nothing is sent. It gets its rows of a value that is split, the whole
  /// of a value that all tasks have, and an undefined tensor for a value on other tasks. Partial sums are added up
  /// first. Must be the same on all tasks. A process with several tasks gets, for each fetch, a tensor for each of its
  /// tasks; on_step is then Error(usage). Otherwise on_step is called on each process that gets a tensor.
  bool fetch_parts = false;
  /// The step of plan(), counted from 0. The last batch of an epoch may be smaller (Rest::keep), and then has its own
  /// plan. run() ignores it and continues with the session's next step.
  std::int64_t planned_step = 0;
  /// Called on the process of `fetch_to` after each step with the fetches of that step (in the order of `fetches`). If
  /// it throws, run() throws the same exception on that process. The run also ends on other tasks that have not
  /// finished their steps yet. There run() throws an Error with the job_code() of the thrown Error, else Code::program.
  std::function<void(std::int64_t step, std::span<const Tensor> fetched)> on_step = {};
  /// Saves checkpoints between steps, and may stop the run there with Error(preempted), after which the session is
  /// still usable. Null: saves nothing.
  RunCheckpoints* checkpoints = nullptr;
};

/// How Session::tune measures.
///
///     Tuned tuned = session.tune({.targets = updates}, {.steps = 50, .rounds = 5});
struct TuneOptions {
  std::int64_t steps = 0;  ///< of each measurement; 0: as many as take about 20 ms
  int rounds = 3;          ///< measurements of each size; the shortest counts
  Clock* clock = nullptr;  ///< null: system_clock(). Task 0 reads it, before and after each measurement
};

/// The result of Session::tune, the same on all tasks.
///
///     Tuned tuned = session.tune({.targets = updates});
///     std::optional<std::int64_t> bucket_bytes = tuned.sizes[tuned.chosen].bucket_bytes;
struct Tuned {
  struct Size {
    std::optional<std::int64_t> bucket_bytes;  ///< as PlanningOptions::bucket_bytes
    double seconds = 0;                        ///< of a step; 0: not measured, since no other size gives another plan
  };
  std::vector<Size> sizes;  ///< the session's own size first, then one for each plan that sends other messages
  std::size_t chosen = 0;   ///< index in `sizes`
  int refused = 0;          ///< number of sizes, maybe with the own one, for which no plan fits budget and memory
};

}  // namespace ferry
#pragma GCC visibility pop
