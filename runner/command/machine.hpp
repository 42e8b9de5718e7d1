// What this machine gives to this process, as the system says, for `ferry doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ferry {

struct Machine {
  std::string host;
  std::string cpu;                 ///< model name, as the kernel knows it
  int cores = 0;                   ///< hardware threads that are online
  std::vector<int> mask;           ///< hardware threads that this process may run on
  std::uint64_t memory_bytes = 0;  ///< installed
  std::uint64_t free_bytes = 0;    ///< that can be had without swapping
  std::uint64_t shm_bytes = 0;     ///< size of /dev/shm; 0: there is none
  std::uint64_t shm_free_bytes = 0;
  std::uint64_t descriptors = 0;  ///< that this process may open
};

/// Reads it all. Never fails: what cannot be read is 0 or empty.
[[nodiscard]] Machine this_machine();

/// Variables that launchers set for their tasks and that are set here, as name and value: mpirun's, srun's, torchrun's.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> launcher_variables();

}  // namespace ferry
