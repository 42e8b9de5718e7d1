// The transport over a communicator that the program has made, for <ferry/mpi.hpp>.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/backends.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// This rank's end of a job; the ranks of `comm` are its tasks. It uses duplicates of `comm`, so that no message of the
/// program can match a receive of ferry's. All ranks of `comm` call it together. Error(usage) unless MPI runs and
/// `comm` is a communicator of one group: MPI_COMM_NULL and intercommunicators are refused. Error(stalled) when not all
/// ranks come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport_over(MPI_Comm comm, const MpiOptions& options = {});

}  // namespace ferry
#pragma GCC visibility pop
