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
