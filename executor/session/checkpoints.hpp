// Checkpoints: what a run needs to go on after it was stopped or killed, saved while it runs
// (docs/checkpoint_format.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.hpp"

namespace ferry {

class CheckpointSaver;
class FileSystem;

struct CheckpointOptions {
  std::string folder = {};       ///< made if missing; on a file system that all tasks share; for one job at a time
  std::int64_t every_steps = 0;  ///< saves whenever the request's steps are a multiple of it; 0: not by steps
  double every_seconds = 0;      ///< saves when so long has passed since the last time; 0: not by time
  int keep = 3;                  ///< older checkpoints than the newest so many are removed
  /// Goes on from the newest checkpoint that is not damaged, if there is any. False: a folder that has any is refused.
  bool resume = false;
  Clock* clock = nullptr;       ///< task 0 reads it; null: system_clock()
  FileSystem* files = nullptr;  ///< null: the machine's
};

/// Saves a session between the steps of one request: the variables that have a value, and how many steps each request
/// has run, on which random numbers and the order of data depend. A run that goes on from a checkpoint, with the same
/// graph, seed and number of tasks, ends with the same bits as one that was never stopped. With
/// ClusterOptions::invariant that holds for any number of processes; without it, another number of tasks gives other
/// rounding errors.
///
/// At a boundary between steps each task copies its parts, which takes as much memory as they have; a thread of each
/// process writes them while the steps go on. A checkpoint gets its name when all of it is on the disk. So the last
/// complete one can be loaded at any moment, even after a crash. A checkpoint that is due while another is being
/// written waits for that.
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
class Checkpoints {
 public:
  /// Error(usage): the folder cannot be written, is not the same for all tasks, another job uses it, it has checkpoints
  /// and `resume` is false, or the session's seed is not the checkpoint's. Error(file): all checkpoints in it are
  /// damaged; the newest readable one is of another graph (lists missing, extra and differing variables), or was saved
  /// by a newer ferry. When an older checkpoint is loaded because newer ones are damaged, these are reported on the log
  /// and get ".damaged" behind their names. The session must outlive this.
  Checkpoints(Session& session, const RunRequest& request, CheckpointOptions options);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// The number of steps that the request had run when the checkpoint was saved from which the session goes on; 0:
  /// there was none.
  [[nodiscard]] std::int64_t step() const;
  /// The same for another request.
  [[nodiscard]] std::int64_t steps_of(const RunRequest& request) const;
  /// Saves the present state, unless it is saved already, and returns when it is on the disk. Errors: as run() with
  /// these checkpoints, Error(resource) for a full disk, Error(usage) for a folder that cannot be written any more.
  void save();

  /// For Session.
  [[nodiscard]] CheckpointSaver& saver() const;
  void require_not_stopped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A checkpoint in a folder.
struct CheckpointFacts {
  std::string name;         ///< of its folder
  std::int64_t step = -1;   ///< -1: unknown
  int tasks = 0;            ///< that saved it
  std::uint64_t bytes = 0;  ///< of its variables
  std::string problem;      ///< why it cannot be loaded; empty: it can
};

/// The checkpoints of a folder, the oldest first, each read whole and compared with its hashes. Error(file) when the
/// folder cannot be read. Thread-safe.
[[nodiscard]] std::vector<CheckpointFacts> checkpoints_in(const std::string& folder, FileSystem& files);
/// Whether a folder has something with the name of a checkpoint, whether or not it can be loaded.
[[nodiscard]] bool has_checkpoints(const std::string& folder, FileSystem& files);

}  // namespace ferry
