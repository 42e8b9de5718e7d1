// CheckpointSaver: decides, in agreement with all tasks of the job, when the tasks of a process save.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/system/time_limit.hpp"
#include "comm/transport.hpp"
#include "executor/state/checkpoint_options.hpp"
#include "executor/state/checkpoint_writer.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

/// One per process, for all its tasks. At most boundaries between steps it only compares counters; the tasks exchange
/// messages about twenty times a second, and when they save.
class CheckpointSaver {
 public:
  /// A task at the end of a step.
  struct Boundary {
    Transport& transport;
    VariableStore& variables;
    TimeLimit limit;                 ///< of exchanges with the other tasks
    std::function<Manifest()> head;  ///< makes the manifest without its variables and its step
    std::int64_t step = 0;           ///< number of the request's steps so far
  };

  /// `options` have a clock. `request`: Agreed::request of the request with the counted steps.
  CheckpointSaver(CheckpointOptions options, std::string request, CheckpointWriter::Options writer,
                  std::span<const int> tasks);
  /// Ends the writer.
  ~CheckpointSaver();

  [[nodiscard]] const std::string& request() const { return request_; }
  /// Error(usage) for any request except the one with the counted steps.
  void require_request(const std::string& request) const;
  /// Called by every task after each step. True: the job must stop here, and its state is on the disk. Throws the error
  /// that kept a checkpoint from being written, the same on all tasks.
  [[nodiscard]] bool at_boundary(const Boundary& boundary);
  /// Saves unless this step is saved already, and returns when all is on the disk. All tasks call it.
  void save_now(const Boundary& boundary);
  /// Notes that the task's present state has been read from a checkpoint, so it need not be saved.
  void restored(int task) { state_of(task).saved = state_of(task).boundaries; }
  /// From now on, adds a number to the steps in the names of checkpoints.
  void shift_names(std::int64_t by) { writer_->shift_names(by); }
  /// CheckpointWriter::exclude_from_pruning() and prune(), in the process of task 0.
  void prune(std::span<const std::string> left) {
    writer_->exclude_from_pruning(left);
    writer_->prune();
  }
  /// The step at which at_boundary() returned true; -1 if it did not, or after a call of this function.
  [[nodiscard]] std::int64_t take_stopped() { return stopped_.exchange(-1); }

 private:
  struct TaskState {
    std::int64_t boundaries = 0;              ///< number of boundaries so far
    std::int64_t saved = -1;                  ///< the boundary at which it was saved last
    std::int64_t next_look = 1;               ///< the boundary of the next exchange
    std::vector<std::int64_t> save_requests;  ///< how often each task has been asked to save (SIGUSR1)
  };
  /// The combined answers of the tasks. `busy`: some task is still writing. `stop`: some task was asked to stop. The
  /// others are task 0's answers. `due`: a save is due. `requested_lately`: a save was requested within the last
  /// kOneRequest. `interval`: the number of boundaries until the next exchange.
  struct Answers {
    bool busy = false, stop = false, due = false, requested_lately = false;
    std::vector<std::int64_t> save_requests;  ///< by task: number of requests to save
    std::int64_t interval = 1;
  };

  [[nodiscard]] TaskState& state_of(int task);
  [[nodiscard]] Answers exchange_answers(const Boundary& boundary);
  [[nodiscard]] bool take_save_request(const Answers& answers, int task);
  [[nodiscard]] std::int64_t interval(std::int64_t boundaries);
  /// Saves. Returns true if the job must stop.
  [[nodiscard]] bool save(const Boundary& boundary);
  [[nodiscard]] bool await_writers(const Boundary& boundary);

  const CheckpointOptions options_;
  const std::string request_;
  std::vector<int> tasks_;
  std::vector<TaskState> states_;
  std::mutex mutex_;
  std::size_t copied_ = 0;  ///< tasks of this process that have copied their parts for the present checkpoint
  std::atomic<std::int64_t> stopped_{-1};
  const std::int64_t requests_before_;  ///< saves_requested() at the beginning
  TimePoint saved_at_;                  ///< this and the next four members are used by task 0 alone
  TimePoint looked_at_;
  std::optional<TimePoint> requested_at_;  ///< when a request to save was last found
  std::int64_t looked_ = 0, interval_ = 1;
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace ferry
