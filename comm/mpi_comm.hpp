// The transport over a communicator of the program's own, for <ferry/mpi.hpp>.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/backends.hpp"

namespace ferry {

/// This rank's end of a job whose tasks are the ranks of `comm`, which is duplicated: no message of the program can
/// meet one of ferry's. All ranks of `comm` call it. Error(usage) unless MPI runs.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport_over(MPI_Comm comm, const MpiOptions& options = {});

}  // namespace ferry
