// The options, requests and results of a Session (session.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/watch/slow_link.hpp"
#include "executor/watch/straggler.hpp"
#include "graph/graph.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/tensor.hpp"
#include "plan/device_work.hpp"
#include "plan/fuse_from.hpp"
#include "plan/traffic.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class CheckpointSaver;
class Clock;
class KernelTable;
class OpSet;
struct PassReport;

struct SessionOptions {
  std::uint64_t seed = 0;
  std::string data_folder = {};  ///< the only folder that the graph's data ops may read; empty: none
  bool soft_placement = false;   ///< an op without a kernel for its device may move to the CPU; each move is reported
  /// The device kind of ops with an annotation that names none. Not given: GPUs if every task has one, else CPUs.
  std::optional<DeviceKind> default_device = {};
  bool reasons = false;  ///< Session::plan also says why each op is where it is and why each message exists
  std::function<void(const PassReport&)> on_pass =
      {};                     ///< called after each pass of planning, on the thread that plans
  bool check_passes = false;  ///< as PlanOptions::check_passes
  /// Successive sums share a message up to this many bytes. 0: each sum has its own, and so has each message between
  /// hosts. Not given: chosen from the topology's links. The same on all tasks.
  std::optional<std::int64_t> bucket_bytes = {};
  /// Elementwise ops on at least this many elements are fused: they run together on a few elements at a time, and
  /// values that only they use take no memory. 0: none is fused. The same on all tasks.
  std::int64_t fuse_from = kFuseFrom;
  /// Checks every number that an op makes. If one is NaN or Inf though the op's inputs were not, the job ends with
  /// Error(numeric), which names the op, its line and the step. Ops then run one by one (as with fuse_from = 0).
  bool check_numerics = false;
  /// After each so many steps of a run, tasks that have the same part of a variable compare its bytes, by a hash of
  /// each part. If they differ, the job ends with Error(numeric), which names the variable, the tasks and the step. 0:
  /// never. The same on all tasks.
  std::int64_t check_replicas = 0;
  /// Waits for each piece of work that a device is given before the next is given, so that the error of a device that
  /// fails names the op at which it failed: GPUs may say so at a later one. Does nothing where there are hosts alone.
  bool sync_gpu = false;
  /// Null: the CPU's; else a copy of cpu_kernels() with your own added, which must outlive the session.
  const KernelTable* kernels = nullptr;
  /// Null: ferry's ops; else a copy of default_ops() with your own added, which must outlive the session. Used to check
  /// what your kernels are given; ops that are missing here cannot be checked.
  const OpSet* ops = nullptr;
  /// The file for the last instructions of each task. The first live process writes it after the session has failed.
  /// Empty: nothing is recorded. Error(file) unless its folder is there. Recording costs some 25 ns an instruction.
  std::string flight_recorder = {};
  /// Where each task that serves workers (ops/train/asynchronous.hpp) writes the order of its turns, as FILE.TASK;
  /// empty: nowhere.
  std::string record_turns = {};
  /// Of a run with record_turns: the turns come in that order, so that a run with as many steps gives the same bits.
  /// Error(usage) for a run with checkpoints: where tasks meet for these differs from run to run.
  std::string replay_turns = {};
  std::string trace_file = {};  ///< Chrome trace of all tasks, written by task 0 when the session closes
  /// Called with that trace in the process of task 0 when the session closes; given in all processes or in none.
  std::function<void(std::string_view trace)> on_trace = {};
};

/// Named tensors, as fed and fetched.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// What a task gave one of its devices besides the host in the last step, and what its plan predicted.
struct DeviceStats {
  std::string device;  ///< "gpu:0"
  /// Equal, except for replays: there are fewer measured replays while nothing is captured, as in a first step.
  DeviceWork measured, planned;
  std::uint64_t peak_bytes = 0, planned_peak_bytes = 0;  ///< the part of TaskStats::peak_bytes on this device
};

/// What one task did in the last step, and what its plan predicted.
struct TaskStats {
  int task = 0;
  int process = 0;  ///< the process that runs the task
  std::string host;
  int threads = 1;
  Traffic measured, planned;
  std::int64_t wire_messages = 0, wire_bytes = 0;  ///< what the transport sent, including chunks and headers
  std::uint64_t peak_bytes = 0, planned_peak_bytes = 0;
  /// In a step, medians over those that were timed; 0 if none was: in a job of one task or a run of few steps.
  double computing_seconds = 0, waiting_seconds = 0;
  std::vector<DeviceStats> devices;
};

struct RunStats {
  std::uint64_t fingerprint = 0;
  std::int64_t steps = 0;
  double min_seconds = 0, median_seconds = 0, max_seconds = 0;  ///< of a step, measured on task 0
  std::vector<TaskStats> tasks;                                 ///< of all tasks, on every task
  std::vector<Straggler> stragglers;                            ///< the tasks that the others wait for, ascending
  std::vector<SlowLink> slow_links;                             ///< the links that tasks wait for, ascending
};

/// The checkpoints of a run: a Checkpoints (checkpoints.hpp), as the session sees it.
class RunCheckpoints {
 public:
  [[nodiscard]] virtual CheckpointSaver& saver() const = 0;
  /// Error(preempted) if the run has stopped and saved because it was told to.
  virtual void require_not_stopped() const = 0;

 protected:
  ~RunCheckpoints() = default;
};

/// A run: the values asked for, ops run for their effect, feeds, and the number of steps.
struct RunRequest {
  std::vector<Value> fetches = {};
  std::vector<Value> targets = {};
  TensorMap feeds = {};  ///< by name of the Input op
  /// More feeds, known only by their types. They suffice for plan(); other functions throw Error(usage).
  std::map<std::string, Type> feed_types = {};
  std::int64_t steps = 1;
  /// The task at which the fetches arrive; the same on all tasks. If the last stage of a pipeline keeps its results,
  /// the first stage need not wait for them before the next step.
  std::int32_t fetch_to = 0;
  /// The step of plan(), counted from 0: if the last batch of an epoch is smaller (Rest::keep), it has a plan of its
  /// own. It does not affect run(), which continues with the session's next step.
  std::int64_t planned_step = 0;
  /// Called on the process of `fetch_to` after each step with the fetches of that step (in the order of `fetches`). If
  /// it throws, run() throws the same exception on that process. The run also ends on other tasks that have not
  /// finished their steps yet. There it throws an Error with the job_code() of the thrown Error, else Code::program.
  std::function<void(std::int64_t step, std::span<const Tensor> fetched)> on_step = {};
  /// Saves checkpoints between steps, and may stop the run there with Error(preempted), after which the session is
  /// still usable. Null: saves nothing.
  RunCheckpoints* checkpoints = nullptr;
};

/// How Session::tune measures.
struct TuneOptions {
  std::int64_t steps = 0;  ///< of each measurement; 0: as many as take about 20 ms
  int rounds = 3;          ///< measurements of each size; the shortest counts
  Clock* clock = nullptr;  ///< null: system_clock(). Task 0 reads it, before and after each measurement
};

/// What Session::tune found, the same on all tasks.
struct Tuned {
  struct Size {
    std::optional<std::int64_t> bucket_bytes;  ///< as SessionOptions::bucket_bytes
    double seconds = 0;                        ///< of a step; 0: not measured, since no other size gives another plan
  };
  std::vector<Size> sizes;  ///< the session's own first, then one for each plan that sends other messages
  std::size_t chosen = 0;   ///< index in `sizes`
  int refused = 0;          ///< how many sizes, maybe the own, are left out: no plan with them fits budget and memory
};

}  // namespace ferry
#pragma GCC visibility pop
