// CheckpointSaver: decides when the tasks of a process save; all tasks of the job agree on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "comm/transport.hpp"
#include "executor/state/checkpoint_writer.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

/// One for each process, for all its tasks. At most boundaries between steps a task only compares two numbers; the
/// tasks exchange what they know (Said) about twenty times a second, and when they save.
class CheckpointSaver {
 public:
  struct Options {
    std::int64_t every_steps = 0;
    double every_seconds = 0;
    Clock* clock = nullptr;
    std::string request;  ///< whose steps are counted
  };
  /// A task at the end of a step.
  struct Place {
    Transport& transport;
    const VariableStore& variables;
    Duration deadline;
    std::function<Manifest()> head;  ///< makes the manifest, but for its step and variables
    std::int64_t step = 0;           ///< of the request
  };

  CheckpointSaver(Options options, CheckpointWriter::Options writer, std::span<const int> tasks);

  [[nodiscard]] const std::string& request() const { return options_.request; }
  /// Error(usage) for another request than that whose steps are counted.
  void require_request(const std::string& request) const;
  /// Called by every task after each step. True: the job is to stop here, and its state is on the disk. Throws the
  /// error that kept a checkpoint from being written, the same on all tasks.
  [[nodiscard]] bool at_boundary(const Place& place);
  /// Saves unless this step is saved, and returns when all is on the disk. All tasks call it.
  void save_now(const Place& place);
  /// Notes that the task's state is that of a checkpoint.
  void restored(int task) { state_of(task).saved = state_of(task).boundaries; }
  /// The step at which at_boundary() returned true, given only once; -1: it has not.
  [[nodiscard]] std::int64_t take_stopped() { return stopped_.exchange(-1); }

 private:
  struct TaskState {
    std::int64_t boundaries = 0;  ///< how many the task has passed
    std::int64_t saved = -1;      ///< boundary at which it last saved; -1: none
    std::int64_t next_look = 1;   ///< boundary of the next exchange
  };
  /// What an exchange gives: whether some process is still writing, whether some task is to stop, and from task 0
  /// whether a save is due by time, and the number of boundaries until the next exchange.
  struct Said {
    bool busy = false, stop = false, due = false;
    std::int64_t interval = 1;
  };

  [[nodiscard]] TaskState& state_of(int task);
  [[nodiscard]] Said meet(const Place& place);
  [[nodiscard]] std::int64_t interval(std::int64_t boundaries);
  /// True: the job is to stop.
  [[nodiscard]] bool save(const Place& place);
  [[nodiscard]] bool await_writers(const Place& place);

  const Options options_;
  std::vector<int> tasks_;
  std::vector<TaskState> states_;
  std::mutex mutex_;
  std::size_t copied_ = 0;  ///< how many tasks of this process have copied their parts for the present checkpoint
  std::atomic<std::int64_t> stopped_{-1};
  TimePoint saved_at_;  ///< used by task 0 alone, as are the next three
  TimePoint looked_at_;
  std::int64_t looked_ = 0, interval_ = 1;
  CheckpointWriter writer_;
};

}  // namespace ferry
