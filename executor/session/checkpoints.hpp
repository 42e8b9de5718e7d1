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
  std::string folder = {};       ///< made if it is not there; one that all tasks see, for one job at a time
  std::int64_t every_steps = 0;  ///< saves whenever the request's steps are a multiple of it; 0: not by steps
  double every_seconds = 0;      ///< saves when so long has passed since the last time; 0: not by time
  int keep = 3;                  ///< of the newest
  /// Goes on from the newest checkpoint that is sound, if there is any. False: a folder that has any is refused.
  bool resume = false;
  Clock* clock = nullptr;       ///< of task 0; null: system_clock()
  FileSystem* files = nullptr;  ///< null: the machine's
};

/// Saves a session between the steps of one request: the variables that have a value, and how often each request has
/// run, on which random numbers and the order of data depend. A run that goes on from a checkpoint, with the same
/// graph, seed and tasks, ends with the same bits as one that was never stopped; with ClusterOptions::invariant on any
/// number of processes, else with other tasks but for rounding.
///
/// At a boundary each task copies its parts, which takes as much memory as they have; a thread of each process writes
/// them while the steps go on. A checkpoint has its name when all of it is on the disk, so at any moment, a crash
/// included, the one before can be loaded. One that is due while the one before is being written waits for it.
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
  /// and `resume` is false, or the session's seed is not the checkpoint's. Error(file): it has checkpoints, none of
  /// which is sound; one fits another graph (lists missing, extra and differing variables), or was saved by a newer
  /// ferry. A checkpoint that is damaged is said on the log, and gets ".damaged" behind its name when an older one is
  /// taken. The session must outlive this.
  Checkpoints(Session& session, const RunRequest& request, CheckpointOptions options);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// The request's steps in the checkpoint from which the session goes on; 0: there was none.
  [[nodiscard]] std::int64_t step() const;
  /// The steps of another request in that checkpoint.
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
/// Whether a folder holds checkpoints or what is left of them.
[[nodiscard]] bool has_checkpoints(const std::string& folder, FileSystem& files);

}  // namespace ferry
