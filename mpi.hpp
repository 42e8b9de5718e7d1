// Runs ferry inside an MPI program: ferry's tasks are the ranks of a communicator. Installed as <ferry/mpi.hpp>. You
// compile the program with its own MPI: Open MPI, MPICH, Intel MPI, or another MPI with the ABI of MPICH or of the MPI
// 5.0 standard. Open MPI's <mpi.h> also includes C++ bindings. The MPI standard has dropped them, compilers warn of
// them, and ferry does not use them: leave them out with -DOMPI_SKIP_MPICXX=1.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "comm/backends.hpp"
#include "executor/cluster.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The ABI of the <mpi.h> that the program includes.
#if defined(OPEN_MPI)
inline constexpr MpiAbi kMpiAbi = MpiAbi::openmpi;
#elif defined(MPI_ABI_VERSION)
inline constexpr MpiAbi kMpiAbi = MpiAbi::standard;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
inline constexpr MpiAbi kMpiAbi = MpiAbi::mpich;
#else
#error \
    "ferry does not know the ABI of this <mpi.h>: it knows Open MPI, MPICH, Intel MPI, MVAPICH and the ABI of MPI 5.0"
#endif

/// mpi_transport_over() for a communicator of the program's MPI.
[[nodiscard]] inline std::unique_ptr<Transport> mpi_transport_over(MPI_Comm comm, const MpiOptions& options = {}) {
  return mpi_transport_over(&comm, kMpiAbi, options);
}

/// A cluster of the ranks of `comm`, which may be a part of MPI_COMM_WORLD. The program must have initialised MPI, at
/// any thread level. ferry calls MPI only from this thread and never finalizes it. The cluster may outlive `comm`, but
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
