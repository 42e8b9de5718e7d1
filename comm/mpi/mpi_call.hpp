// Calls of MPI whose errors become ferry's.
#pragma once

#include <mpi.h>

namespace ferry::mpi {

/// Throws Error(peer_lost) with MPI's text unless `result` is MPI_SUCCESS. `what`: the function that gave it.
void check(int result, const char* what);

}  // namespace ferry::mpi
