// How much memory and how many threads this machine has, and how much of them its processes may have.
#pragma once

#include <cstdint>

namespace ferry {

/// Bytes of memory that processes here may have together: what is installed, or the limit of this process's control
/// group where that is less. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t host_memory_bytes();

/// Bytes of memory and swap that are installed: nothing larger can ever be allocated. UINT64_MAX: not known.
/// Thread-safe.
[[nodiscard]] std::uint64_t memory_and_swap_bytes();

/// Threads that this process may have at most, by the limits of the system, of this process's control group and of its
/// addresses; other processes take their share of some of these. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t most_threads();

}  // namespace ferry
