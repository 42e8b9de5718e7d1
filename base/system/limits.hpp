// How much memory this machine has, and how much memory and how many threads its processes may have.
#pragma once

#include <cstdint>
#include <string>

namespace ferry {

/// Bytes of installed memory. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t installed_memory_bytes();

/// Bytes of installed memory and swap, beyond which nothing can ever fit. UINT64_MAX: not known. Thread-safe.
[[nodiscard]] std::uint64_t memory_and_swap_bytes();

/// The limit of memory that is the lowest, for a message: "this machine has 23.5 GiB", "its control group may have 2
/// GiB (/sys/fs/cgroup/memory.max)", "this process may have 390.6 MiB of addresses (ulimit -v)". Thread-safe.
[[nodiscard]] std::string memory_limit_text();

/// The most threads that this process may have, by the limits of the system, of its control group, and of its address
/// space; other processes share some of these limits. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t most_threads();

}  // namespace ferry
