// Turns errors of MPI calls into ferry's errors.
#pragma once

#include <mpi.h>

namespace ferry::mpi {

/// Throws Error(peer_lost) with MPI's text unless `result` is MPI_SUCCESS. `what`: the function that returned it.
void check(int result, const char* what);

}  // namespace ferry::mpi
