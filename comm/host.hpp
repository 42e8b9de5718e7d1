// Which machine this is, so that tasks of one host find each other, and what a process may have of it.
#pragma once

#include <cstdint>
#include <string>

namespace ferry {

struct HostId {
  std::string name;   ///< what the machine calls itself, for people
  std::string proof;  ///< equal on two tasks only if they can share memory: hash of boot, host name and /dev/shm
};

/// Reads it anew on each call. Thread-safe. What cannot be read counts as empty, or is unique to this process where
/// equality would claim too much.
[[nodiscard]] HostId host_id();

/// Bytes of memory that processes here may have together: what is installed, or the limit of this process's control
/// group where that is less. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t host_memory_bytes();

/// Threads that this process may have at most, by the limits of the system, of this process's control group and of its
/// addresses; other processes take their share of some of these. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t most_threads();

}  // namespace ferry
