// CheckpointWriter: writes copies of variables to a folder on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files/bytes.hpp"
#include "base/system/monitor.hpp"
#include "base/system/time_limit.hpp"
#include "executor/state/checkpoint_format.hpp"
#include "executor/state/variable_part.hpp"

namespace ferry {

/// The parts that one task saves, at most one of each variable.
struct TaskCopy {
  struct Part {
    std::string name;
    DType dtype = DType::float32;
    VariablePart part;
    FileBytes bytes;
  };
  int task = 0;
  std::vector<Part> parts;
};

/// One process's writer. The writer in the process of task 0 polls the folder until the others have written their
/// files. Then it writes the manifest, renames the folder to its final name, and removes old checkpoints. Thread-safe,
/// except for copies().
class CheckpointWriter {
 public:
  struct Options {
    FileSystem* files = nullptr;
    std::string folder;
    std::string job;  ///< unique; the text of the folder's lock, and part of the names of incomplete checkpoints
    int process = 0, processes = 1;
    int keep = 1;
    RunSettings settings;  ///< of this run; the process of task 0 records them
    TimeLimit progress;    ///< a checkpoint that makes no progress for this long has failed
  };

  /// `tasks`: the tasks of this process.
  CheckpointWriter(Options options, std::span<const int> tasks);
  /// Precondition: end() has returned true.
  ~CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// One copy for each task, to be filled while nothing is being written. Their memory is reused for the next
  /// checkpoint.
  [[nodiscard]] std::vector<TaskCopy>& copies() { return copies_; }
  /// Starts to write the copies; `head` is the manifest without variables. Precondition: nothing is being written.
  void write(Manifest head);
  /// From now on, adds a number to the steps in the names of checkpoints. Precondition: nothing is being written.
  void shift_names(std::int64_t by) { shift_ = by; }
  /// Removes all checkpoints except the newest `keep`. It first renames a checkpoint to a name that no checkpoint has.
  /// A checkpoint that cannot be removed stays, with one warning. Error(file) if the folder does not have the job's
  /// lock any more. Precondition: nothing is being written.
  void prune();
  /// Names of checkpoints that prune() leaves alone and does not count.
  void exclude_from_pruning(std::span<const std::string> names) { excluded_.insert(names.begin(), names.end()); }
  /// Waits until nothing is being written, but no longer than `at_most`. Returns whether nothing is being written.
  [[nodiscard]] bool idle(Duration at_most);
  /// Call it if a process without parts is lost: then checkpoints do not wait for its files any more.
  void set_process_lost(int process);
  /// Call it again and again while you wait for the checkpoint. Returns false, and from then on failure() returns an
  /// Error(stalled), if nothing of the checkpoint has been completed for Options::progress.
  bool check_progress();
  /// The latest error of writing, if there was any.
  [[nodiscard]] std::optional<Error> failure();
  /// Ends the thread. Finishes the checkpoint in progress if this needs no wait for another process; otherwise drops
  /// it. Returns false if the thread hangs in a call of the file system. It then needs this object until the process
  /// ends.
  [[nodiscard]] bool end();

 private:
  void serve();
  /// Error(file) unless the folder still has the job's lock.
  void require_folder() const;
  void write_all();
  void write_shards();
  void commit();
  /// Waits for the parts of a process. Returns none if the process is lost.
  [[nodiscard]] SavedVariables parts_of(int process);
  void clean_up() noexcept;
  /// The name of the checkpoint that is being written, and its folder until it is complete.
  [[nodiscard]] std::string name() const { return checkpoint_name(manifest_.step + shift_); }
  [[nodiscard]] std::string temporary() const;

  const Options options_;
  std::vector<TaskCopy> copies_;
  Monitor work_;
  bool busy_ = false, ending_ = false;
  Manifest manifest_;
  std::int64_t shift_ = 0;
  std::optional<Error> failure_;
  std::atomic<std::uint64_t> progress_{0};  // grows with each completed part of the work
  std::uint64_t seen_ = 0;                  // the progress at the latest check_progress()
  Deadline next_progress_;                  // when seen_ must have changed
  std::set<int> lost_;                      // processes that are lost
  std::set<std::string> excluded_;          // names that prune() leaves alone
  std::thread thread_;
};

/// Removes incomplete checkpoints of jobs that were killed. A checkpoint that cannot be removed stays, with a warning.
void remove_leftovers(FileSystem& files, const std::string& folder);
/// The names of a folder's checkpoints, the newest first.
[[nodiscard]] std::vector<std::string> checkpoint_names(FileSystem& files, const std::string& folder);

}  // namespace ferry
