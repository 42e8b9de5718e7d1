// Process: starts and ends MPI in this process. MPI is started at most once. ferry ends MPI only if ferry started it,
// and not before the tasks of all jobs have said goodbye to each other.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>

#include "comm/mpi/plugin/job.hpp"

namespace ferry::mpi {

/// Starts MPI (MPI_THREAD_FUNNELED) unless it runs. From then on the exit of the process, or the program's own
/// MPI_Finalize, leaves all jobs: see watch(). Error(usage) if MPI was finalized or started before a fork(),
/// Error(resource) if MPI does not start.
void start();

/// Whether MPI is initialized and not finalized.
[[nodiscard]] bool running();

/// Implements leave_mpi().
void leave(Code code, std::string_view why, bool said) noexcept;

/// The library's name and version. Does not start MPI.
[[nodiscard]] std::string library_version();

/// Keeps `job` until all its tasks have said goodbye, even if its transport is destroyed.
///
/// At the end of the process, a job that this task has not closed counts as failed, and its peers are informed. Then
/// each task says goodbye and waits for the goodbyes of the others. Without a failure it waits without limit (as
/// MPI_Finalize would, but sleeping), else for a few seconds. If all goodbyes have come, MPI is finalized. If a peer
/// does not answer, MPI_Abort ends all processes, because MPI_Finalize would wait for that peer forever.
void watch(std::shared_ptr<MpiJob> job);

}  // namespace ferry::mpi
