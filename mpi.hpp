// ferry inside an MPI program: its tasks are the ranks of a communicator. Installed as <ferry/mpi.hpp>; compile with
// the MPI that ferry was built with. Open MPI's <mpi.h> also includes C++ bindings, which the MPI standard has dropped
// and compilers warn of; ferry does not use them, and -DOMPI_SKIP_MPICXX=1 leaves them out.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "comm/backends.hpp"
#include "comm/mpi_comm.hpp"
#include "executor/job/cluster.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A cluster over the ranks of `comm`, which may be a part of the world. MPI must have been initialised, at any thread
/// level, and is never finalized by ferry; ferry calls MPI from this thread only. The cluster may outlive `comm`, but
/// must be destroyed before MPI is finalized.
///
///     MPI_Init(&argc, &argv);
///     auto cluster = ferry::adopt(MPI_COMM_WORLD);
///
/// Errors: the errors of Cluster::connect(), and Error(usage) for MPI_COMM_NULL and for an intercommunicator.
[[nodiscard]] inline Cluster adopt(MPI_Comm comm, ClusterOptions options = {}) {
  std::vector<std::unique_ptr<Transport>> local;
  auto over_mpi = mpi_transport_over(comm, {.threads = options.threads, .deadline = options.deadline});
  local.push_back(shared_memory_transport(std::move(over_mpi), options.threads, options.deadline));
  return Cluster::over(std::move(local), std::move(options));
}

}  // namespace ferry
#pragma GCC visibility pop
