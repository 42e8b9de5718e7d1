// Chooses the MPI of a process, by a pure function of the process's surroundings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/backends.hpp"
#include "comm/launch_variables.hpp"

namespace ferry::mpi {

/// A library of MPI, and the ABI that it has.
struct Library {
  MpiAbi abi = MpiAbi::openmpi;
  std::string file = {};  ///< for dlopen: a path, or a name that the linker searches; empty: linked into the program
  bool operator==(const Library&) const = default;
};

/// The facts on which the choice depends.
struct Surroundings {
  std::vector<Library> loaded = {};       ///< already in the process, for example linked to the program
  std::string wanted = {};                ///< FERRY_MPI
  std::optional<Launcher> launcher = {};  ///< the launcher of an MPI that started this process
  std::optional<MpiAbi> wanted_abi = {};  ///< the ABI of the library at the path in FERRY_MPI
  std::string intel_folder = {};          ///< I_MPI_ROOT
};

/// The libraries to try, in this order, and the reason.
struct Choice {
  std::vector<Library> libraries;
  std::string reason;
};

/// A library that the process has loaded takes precedence over FERRY_MPI, which takes precedence over the launcher.
/// Without any of the three, the order is: Open MPI, MPICH, the standard ABI. Error(usage) if two libraries are loaded,
/// if FERRY_MPI names another ABI than the loaded library has, if it names Open MPI under the launcher of MPICH, and if
/// it names no ABI.
[[nodiscard]] Choice choose(const Surroundings& surroundings);

/// "openmpi", "mpich" or "standard", as FERRY_MPI and the plug-ins spell it.
[[nodiscard]] std::string_view name_of(MpiAbi abi);

}  // namespace ferry::mpi
