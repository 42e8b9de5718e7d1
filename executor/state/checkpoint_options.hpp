// CheckpointOptions: where and when checkpoints are saved.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace ferry {

class Clock;
class FileSystem;

/// Where and when Checkpoints saves a session.
///
///     Checkpoints checkpoints(session, request, {.folder = "saved", .every_seconds = 600, .keep = 2, .resume = true});
struct CheckpointOptions {
  std::string folder = {};       ///< made if missing; all tasks must see it, and only one job at a time may use it
  std::int64_t every_steps = 0;  ///< saves whenever the number of the request's steps is a multiple of it; 0: never
  double every_seconds = 0;      ///< saves when this long has passed since the last save; 0: never
  int keep = 3;                  ///< how many checkpoints are kept, the newest
  /// Continues from the newest undamaged checkpoint, if there is any. False: a folder that has checkpoints is an error.
  bool resume = false;
  Clock* clock = nullptr;       ///< tells when a save is due, and how long one makes no progress; null: system_clock()
  FileSystem* files = nullptr;  ///< null: the machine's
  /// Called for each task of this process on the task's own thread, after the step of a checkpoint and before the
  /// checkpoint can be complete. So a run that resumes from the checkpoint finds everything that the call has written.
  std::function<void(int task)> before_save = {};
};

}  // namespace ferry
#pragma GCC visibility pop
