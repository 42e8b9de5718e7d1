// `ferry worker`: process 1 of a container in which a job's launcher starts tasks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ferry {

struct WorkerOptions {
  std::vector<std::string> command;                            ///< starts the tasks, such as an ssh server
  std::chrono::milliseconds grace = std::chrono::seconds(30);  ///< for tasks to end after they are asked to
};

/// Runs the command to its end, then kills all processes that it has left. Returns the exit code of the command.
///
/// On SIGTERM, SIGINT or SIGHUP, sends the signal to the tasks below the command, which may save a checkpoint. When
/// they have ended, or `grace` is over, the command gets SIGTERM. The exit code is then 0, or 130 if a process had to
/// be killed.
///
/// A task is a process with a rank in its environment (launch_variables.hpp). It gets the signal only if it handles it.
/// Otherwise a shell that runs a task would die, and the launcher would take this for the task's end.
[[nodiscard]] int run_worker(const WorkerOptions& options);

}  // namespace ferry
