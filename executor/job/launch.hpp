// Launch: what started this process, as its environment and --transport say.
#pragma once

#include <optional>

#include "comm/backends.hpp"
#include "executor/job/cluster.hpp"

namespace ferry {

struct Launch {
  enum class By { nobody, mpi, tcp };
  By by = By::nobody;
  int processes = 1;
  int task = 0;    ///< this process's number
  TcpOptions tcp;  ///< where by is tcp
};

/// Error(usage), which names the variables, when a launcher's are missing or wrong, when two launchers say different
/// things and --transport does not choose, or when it chooses one that did not start this process.
[[nodiscard]] Launch launch_of(const ClusterOptions& options);

/// Warns, in the first of them, where srun has started several processes and nothing makes tasks of one job of them, so
/// that each runs the whole job.
void warn_of_copies(const ClusterOptions& options);

/// What the launcher does with what the tasks print.
enum class OutputOfLaunch {
  apart,     ///< nothing, or there is no launcher: each task may have a terminal or file of its own
  together,  ///< mpirun, srun: comes out in one place
  numbered   ///< ferry launch: the same, with the task's number before each line
};
[[nodiscard]] OutputOfLaunch output_of_launch();

}  // namespace ferry
