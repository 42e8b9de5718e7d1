// Limits: how many cores, how much memory and how many threads the launcher and the system allow this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// The system's numbers of the hardware threads that the calling thread may run on, ascending. Read from the system on
/// each call; empty if unknown. Works for more than 1,024 hardware threads too. Thread-safe.
[[nodiscard]] std::vector<int> affinity_mask();

/// The number of threads of this process that can run at a time: the size of the calling thread's affinity mask, or the
/// number of cores that the control group's quota of processor time allows, whichever is less. At least 1; read on each
/// call. Thread-safe.
[[nodiscard]] int usable_cores();

/// Whether threads have to share cores: `mine` threads of this process, or `all` threads of the job on this machine,
/// are more than can run at a time. Thread-safe.
[[nodiscard]] bool is_crowded(int mine, int all);

/// Gives the calling thread the affinity mask of the process's first thread. A new thread has the mask of the thread
/// that made it, which may be pinned to a core. An error of the system is ignored. Thread-safe.
void unpin_thread();

/// The lowest limit of memory, as text for a message: "this machine has 23.5 GiB", "its control group may have 2 GiB
/// (/sys/fs/cgroup/memory.max)", "this process may have 390.6 MiB of addresses (ulimit -v)". Thread-safe.
[[nodiscard]] std::string memory_limit_text();

/// The number of threads that this process may have at most, by the limits of the system, of its control group, and of
/// its address space. Other processes share some of these limits. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t most_threads();

}  // namespace ferry
#pragma GCC visibility pop
