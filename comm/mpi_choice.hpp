// Which MPI a process uses: a pure function of what the process can see.
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
  std::string file = {};  ///< for dlopen: a path, or a name that the linker looks for; empty: the program has it itself
  bool operator==(const Library&) const = default;
};

/// What the choice depends on.
struct Surroundings {
  std::vector<Library> loaded = {};       ///< the process has them already, for example linked to the program
  std::string wanted = {};                ///< FERRY_MPI
  std::optional<Launcher> launcher = {};  ///< of an MPI that started this process
  std::optional<MpiAbi> wanted_abi = {};  ///< of the library at a path in FERRY_MPI
  std::string intel_folder = {};          ///< I_MPI_ROOT
};

/// The libraries to try, in this order, and why.
struct Choice {
  std::vector<Library> libraries;
  std::string reason;
};

/// A library that the process has loaded comes before FERRY_MPI, which comes before the launcher. Without any of the
/// three: Open MPI, MPICH, the standard ABI. Error(usage) when two libraries are loaded, when FERRY_MPI names another
/// ABI than that of the loaded library, and when it names none.
[[nodiscard]] Choice choose(const Surroundings& surroundings);

/// "openmpi", "mpich" or "standard", as FERRY_MPI and the plug-ins spell it.
[[nodiscard]] std::string_view name_of(MpiAbi abi);

}  // namespace ferry::mpi
