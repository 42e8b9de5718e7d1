// Launch: how this process was started, according to its environment and --transport.
#pragma once

#include <optional>

#include "comm/backends.hpp"
#include "executor/job/cluster_options.hpp"

namespace ferry {

struct Launch {
  enum class By { nobody, mpi, tcp };
  By by = By::nobody;
  int processes = 1;
  int task = 0;    ///< this process's number
  TcpOptions tcp;  ///< if `by` is tcp
};

/// Error(usage), which names the variables, if a launcher's variables are missing or wrong, if two launchers disagree
/// and --transport does not choose one, or if --transport chooses a launcher that did not start this process.
[[nodiscard]] Launch launch_of(const ClusterOptions& options);

/// For an error by which this process cannot join the job of its launcher, before anybody prints it. Mostly all tasks
/// have this error, and the launcher ends the others after task 0 has printed it and exits. So this function waits on
/// the other tasks. If nobody ends them, task 0 has no error, and they print their own. Returns `error`; marked by
/// Error::told_elsewhere() if a signal has asked this process to end.
[[nodiscard]] Error let_task_0_print(Error error);

/// Warns if srun has started several processes that do not form one job, so that each process runs the whole job. Only
/// the first process warns.
void warn_of_copies(const ClusterOptions& options);

/// The launcher's treatment of the tasks' output.
enum class OutputOfLaunch {
  apart,     ///< none, or no launcher: each task may have its own terminal or file
  together,  ///< mpirun, srun: merged
  numbered   ///< ferry launch: merged, with the task's number before each line
};
[[nodiscard]] OutputOfLaunch output_of_launch();

}  // namespace ferry
