// Affinity: on which hardware threads, and on how many, the launcher and the system let us run.
#pragma once

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

}  // namespace ferry
#pragma GCC visibility pop
