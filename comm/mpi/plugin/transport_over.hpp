// Makes a transport over a communicator of MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/backends.hpp"

namespace ferry::mpi {

/// Makes this rank's end of a job over the ranks of `comm`. The job runs on duplicates of `comm`. All ranks call it
/// together. Error(usage) unless `comm` is a communicator of one group; Error(stalled) if not all ranks come.
[[nodiscard]] std::unique_ptr<Transport> transport_over(MPI_Comm comm, const MpiOptions& options);

}  // namespace ferry::mpi
