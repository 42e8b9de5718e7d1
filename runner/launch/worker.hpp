// `ferry worker`: process 1 of a container on which a job's launcher starts tasks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ferry {

struct WorkerOptions {
  std::vector<std::string> command;                            ///< what starts the tasks, such as an ssh server
  std::chrono::milliseconds grace = std::chrono::seconds(30);  ///< for tasks to end that are asked to
};

/// Runs the command to its end, and waits for all processes that it has left. Returns its exit code.
///
/// SIGTERM, SIGINT and SIGHUP are sent to the tasks below the command, which may save a checkpoint. Once they have
/// ended, or `grace` is over, the command gets SIGTERM; the exit code is then 0, or 130 if something had to be killed.
///
/// A task is a process whose environment has a rank (launch_variables.hpp). It gets the signal only if it handles it:
/// a shell that runs a task would die, and the launcher would take that for the task's end.
[[nodiscard]] int run_worker(const WorkerOptions& options);

}  // namespace ferry
