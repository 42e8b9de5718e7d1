// Process: MPI's life within this process: started at most once, ended only by who started it, and never before the
// tasks of all jobs have parted.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/mpi/control.hpp"

namespace ferry::mpi {

/// Starts MPI (MPI_THREAD_FUNNELED) if nobody has. From then on the exit of the process, or the program's own
/// MPI_Finalize, parts from all jobs: see watch(). Error(usage) when MPI was finalized, Error(resource) when it does
/// not start.
void start();

/// Whether MPI runs.
[[nodiscard]] bool running();

/// Keeps `job` until its tasks have parted, also when its transport is gone.
///
/// At the end of the process: a job that this task has not closed has failed, and its peers are told. Then each task
/// says goodbye and waits for the goodbyes of the others; without a failure as long as it takes (as MPI_Finalize would,
/// but sleeping), else for a few seconds. If all came, MPI is finalized; a peer that does not answer is ended with
/// MPI_Abort, since MPI_Finalize would wait for it for ever.
void watch(std::shared_ptr<Control> job);

}  // namespace ferry::mpi
