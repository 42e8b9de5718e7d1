// Limits: how many cores, how much memory and how many threads the launcher and the system allow this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// The hardware threads that the calling thread may run on, by the system's numbers, ascending. Read from the system on
/// each call; empty if unknown. Machines of more than 1,024 are read too. Thread-safe.
[[nodiscard]] std::vector<int> affinity_mask();

/// How many threads of this process can run at a time: the hardware threads of the calling thread's mask, or what the
/// control group's quota of processor time keeps busy, if that is less. At least 1; read on each call.
/// Thread-safe.
[[nodiscard]] int usable_cores();

/// Whether threads have to take turns: `mine` of this process, or `all` of this machine's, are more than can run at a
/// time. Thread-safe.
[[nodiscard]] bool is_crowded(int mine, int all);

/// Lets the calling thread run wherever the process's first thread may: a thread begins with the mask of the one that
/// made it, which may be pinned to a core. A refusal by the system is ignored. Thread-safe.
void unpin_thread();

/// The limit of memory that is the lowest, for a message: "this machine has 23.5 GiB", "its control group may have 2
/// GiB (/sys/fs/cgroup/memory.max)", "this process may have 390.6 MiB of addresses (ulimit -v)". Thread-safe.
[[nodiscard]] std::string memory_limit_text();

/// The most threads that this process may have, by the limits of the system, of its control group, and of its address
/// space; other processes share some of these limits. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t most_threads();

}  // namespace ferry
#pragma GCC visibility pop
