#include <mpi.h>

#include "comm/backends.hpp"
#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

/// Processes under mpirun. Their messages go through shared memory.
void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  const auto end = shared_memory_transport(mpi_transport(), 1, std::chrono::seconds(20));
  MPI_Barrier(MPI_COMM_WORLD);  // a body may end its job at once, while other ranks still connect
  run_end(*end, [&](Transport& running) {
    body(running);
    if (closes) running.close();
  });
}

}  // namespace ferry::test
