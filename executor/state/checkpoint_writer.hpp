// CheckpointWriter: writes copies of variables to a folder, on a thread of its own.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files/bytes.hpp"
#include "base/system/monitor.hpp"
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

/// One process's writer. The process of task 0 polls the folder until the others have written their files, writes the
/// manifest, gives the folder its name, and removes old checkpoints. Thread-safe, except copies().
class CheckpointWriter {
 public:
  struct Options {
    FileSystem* files = nullptr;
    std::string folder;
    std::string job;  ///< is in the names of incomplete checkpoints, so that those of two jobs differ
    int process = 0, processes = 1;
    int keep = 1;
  };

  /// `tasks`: those of this process.
  CheckpointWriter(Options options, std::span<const int> tasks);
  /// Finishes what it can without waiting for another process, and gives up the rest.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// One copy for each task. Fill them while nothing is being written. They are kept from one checkpoint to the next.
  [[nodiscard]] std::vector<TaskCopy>& copies() { return copies_; }
  /// Writes the copies; `head` has all but the variables. Precondition: nothing is being written.
  void write(Manifest head);
  /// Waits for `at_most` until nothing is being written; returns whether nothing is.
  [[nodiscard]] bool idle(Duration at_most);
  /// The error, if something could not be written.
  [[nodiscard]] std::optional<Error> failure();

 private:
  void serve();
  void write_all();
  void write_shards();
  void commit();
  [[nodiscard]] SavedVariables parts_of(int process);
  void clean_up() noexcept;
  [[nodiscard]] std::string temporary(const std::string& name) const;

  const Options options_;
  std::vector<TaskCopy> copies_;
  Monitor work_;
  bool busy_ = false, ending_ = false;
  Manifest manifest_;
  std::optional<Error> failure_;
  std::thread thread_;
};

/// Removes all checkpoints but the newest `keep`. Before its files are removed, a checkpoint gets a name that is not
/// one of a checkpoint, with `job` in it, so that nobody loads a part of it.
void prune(FileSystem& files, const std::string& folder, const std::string& job, int keep);
/// Removes what jobs that were killed have left behind.
void remove_leftovers(FileSystem& files, const std::string& folder);
/// The names of a folder's checkpoints, the newest first.
[[nodiscard]] std::vector<std::string> checkpoint_names(FileSystem& files, const std::string& folder);

}  // namespace ferry
