// Checkpoints: saves, during a run, the data with which the run can continue after it was stopped or killed
// (docs/reference/checkpoint_format.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "executor/state/checkpoint_options.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class FileSystem;

/// Saves a session between the steps of one request: the variables that have a value, and the number of steps of each
/// request, on which random numbers and the order of data depend. A run that continues from a checkpoint, with the same
/// graph, seed and tasks, ends with the same bits as an undisturbed run. With ClusterOptions::invariant the number of
/// processes may differ; without it, another number of tasks gives results that differ by rounding.
///
/// Between two steps each task copies its parts of the variables, which takes as much memory again; a thread of each
/// process writes the copies while the steps continue. A checkpoint gets its name when all of it is on the disk, so the
/// previous checkpoint can be loaded at any moment, even after a crash. If a checkpoint is due while another one is
/// being written, it waits for that one.
///
///     Checkpoints checkpoints(session, request, {.folder = "saved", .every_steps = 100, .resume = true});
///     request.checkpoints = &checkpoints;
///     request.steps = 10000 - checkpoints.step();
///     session.run(request);
///     checkpoints.save();
///
/// request_preemption() (base/system/interrupt.hpp), in one process of the job or in all, makes the run save and stop
/// at a boundary on which all tasks agree, with Error(preempted).
///
/// Used from the session's thread. All processes make the same calls.
class Checkpoints final : public RunCheckpoints {
 public:
  /// Error(usage) if the folder cannot be written, is not the same for all tasks, or is used by another job. Also if
  /// the folder has checkpoints and `resume` is false, or if the session's seed is not the checkpoint's. Error(file) if
  /// all its checkpoints are damaged, or if the newest undamaged one fits another graph (the error lists missing, extra
  /// and differing variables) or was saved by a newer ferry. If damaged checkpoints are skipped, the log says so and
  /// ".damaged" is appended to their names. The session must outlive this object.
  Checkpoints(Session& session, const RunRequest& request, CheckpointOptions options);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// The number of the request's steps in the checkpoint from which the session continues; 0: no checkpoint.
  [[nodiscard]] std::int64_t step() const;
  /// The number of steps of another request in that checkpoint.
  [[nodiscard]] std::int64_t steps_of(const RunRequest& request) const;
  /// Saves the present state, unless it is saved already, and returns when it is on the disk. Errors: as run() with
  /// these checkpoints; Error(resource) for a full disk; Error(usage) if the folder can no longer be written.
  void save();

  /// For the session: its interface to the checkpoints.
  [[nodiscard]] CheckpointSaver& saver() const override;
  [[nodiscard]] const Session& session() const override;
  void require_not_stopped() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A checkpoint in a folder.
struct CheckpointFacts {
  std::string name;         ///< name of its folder
  std::int64_t step = -1;   ///< -1: unknown
  int tasks = 0;            ///< number of tasks of the job that saved it
  std::uint64_t bytes = 0;  ///< of its variables
  std::string problem;      ///< why it cannot be loaded; empty: it can
};

/// The checkpoints of a folder, the oldest first, including those with ".damaged" in their names. Each is read whole
/// and compared with its hashes. Error(file) when the folder cannot be read. Thread-safe.
///
///     for (const CheckpointFacts& checkpoint : checkpoints_in("saved", local_files()))
///       std::cout << checkpoint.name << ": step " << checkpoint.step << "\n";
[[nodiscard]] std::vector<CheckpointFacts> checkpoints_in(const std::string& folder, FileSystem& files);

/// Whether a folder holds a checkpoint, according to the names in it. Damaged checkpoints count unless they were
/// renamed. Error(file) when the folder cannot be read.
///
///     has_checkpoints("data", local_files());  // false
[[nodiscard]] bool has_checkpoints(const std::string& folder, FileSystem& files);

}  // namespace ferry
#pragma GCC visibility pop
