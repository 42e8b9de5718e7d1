// The interface between ferry and its plug-ins for MPI. The files of comm/mpi/plugin are compiled once for each ABI of
// MPI, and only they include <mpi.h>. ferry itself calls no function of MPI, so the same `ferry` runs with each ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "comm/backends.hpp"

namespace ferry {

/// Changes whenever MpiPlugin, Transport or a type in their functions changes.
inline constexpr std::uint32_t kMpiPluginVersion = 2;

/// The functions of a plug-in. No handle, status or constant of MPI passes through them, except the communicator of a
/// program, as a pointer. A plug-in has its own copy of the code of ferry that it uses, so that it also works in a
/// program that is linked statically to ferry.
struct MpiPlugin {
  std::uint32_t version = kMpiPluginVersion;
  std::uint32_t size = sizeof(MpiPlugin);
  const char* ferry = nullptr;  ///< the version of ferry that the plug-in belongs to

  /// The library's name and version: "Open MPI v4.1.4", "MPICH 5.0.2". Does not start MPI.
  std::string (*library)() = nullptr;
  /// Whether MPI is initialized and not finalized.
  bool (*running)() = nullptr;
  /// Starts MPI with MPI_THREAD_FUNNELED unless it runs, and returns the number of tasks in MPI_COMM_WORLD. If it
  /// starts MPI, it finalizes MPI when the process exits. Error(usage) if MPI was finalized or started before a fork(),
  /// Error(resource) if MPI does not start.
  int (*start)() = nullptr;
  /// Makes this task's end of a job over the ranks of `communicator`, a pointer to an MPI_Comm; null: MPI_COMM_WORLD.
  /// Call start() first. Errors as mpi_transport_over().
  std::unique_ptr<Transport> (*over)(const void* communicator, const MpiOptions& options) = nullptr;
  /// Implements leave_mpi().
  void (*leave)(Code code, std::string_view why, bool said) noexcept = nullptr;
};

/// The one function that a plug-in exports.
using MpiPluginFunction = const MpiPlugin*();
inline constexpr const char* kMpiPluginFunction = "ferry_mpi_plugin";

}  // namespace ferry
