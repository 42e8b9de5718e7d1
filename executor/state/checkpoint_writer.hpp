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

/// The parts that one task saves: one part each of some variables.
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

/// One process's writer. The process of task 0 waits, by looking into the folder, until the others have written their
/// files, writes the manifest, gives the folder its name, and removes old checkpoints. Thread-safe, but for copies().
class CheckpointWriter {
 public:
  struct Options {
    FileSystem* files = nullptr;
    std::string folder;
    std::string job;  ///< in the names of what is not complete, so that no two jobs have a name in common
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
  /// True when nothing is being written, at once or within `at_most`.
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

/// Removes all checkpoints but the newest `keep`. While they are being removed they have names that are not those of
/// checkpoints, with `job` in them.
void prune(FileSystem& files, const std::string& folder, const std::string& job, int keep);
/// Removes what jobs that were killed have left behind.
void remove_leftovers(FileSystem& files, const std::string& folder);
/// The names of a folder's checkpoints, the newest first.
[[nodiscard]] std::vector<std::string> checkpoint_names(FileSystem& files, const std::string& folder);

}  // namespace ferry
