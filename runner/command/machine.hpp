// The resources of this machine that the operating system lets this process use, for `ferry doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/process/control_group.hpp"

namespace ferry {

struct Machine {
  std::string host;
  std::string cpu;                 ///< model name, from the kernel
  int cores = 0;                   ///< hardware threads that are online
  std::vector<int> mask;           ///< hardware threads that this process may run on
  GroupLimits limits;              ///< of its control groups
  std::uint64_t memory_bytes = 0;  ///< installed
  std::uint64_t free_bytes = 0;    ///< available without swapping
  std::uint64_t shm_bytes = 0;     ///< size of /dev/shm; 0: there is none
  std::uint64_t shm_free_bytes = 0;
  std::string tcp_congestion;     ///< the algorithm that new TCP connections use, such as "cubic"
  std::uint64_t descriptors = 0;  ///< number of files that this process may have open
};

/// Reads all fields. Never fails: a field that cannot be read is 0 or empty.
[[nodiscard]] Machine this_machine();

/// The environment variables of launchers (mpirun, srun, torchrun) that are set in this process, as name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> launcher_variables();

}  // namespace ferry
