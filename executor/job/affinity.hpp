// Affinity: which cores this process may use, how many threads each task gets, and pinning.
//
// A launcher gives a process its cores by the affinity mask (Open MPI's mpirun binds each rank to one core by default).
// ferry never leaves the mask. All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ferry {

/// The cores that the affinity mask of this process allows, each with its hardware threads that are in the mask.
struct Cores {
  std::vector<std::vector<int>> cpus;  ///< hardware threads by core, in the operating system's numbers
  bool whole_machine = true;  ///< the mask has all cores, so the launcher has not reserved cores for this process
  int quota = kNoQuota;       ///< number of threads that the control group's quota of processor time keeps busy

  static constexpr int kNoQuota = INT32_MAX;

  [[nodiscard]] int count() const { return static_cast<int>(cpus.size()); }
  /// The hardware threads of the mask, such as "0-3,8".
  [[nodiscard]] std::string str() const;
};

/// The cores in the mask of the calling thread. The mask is read at each call; the machine's cores are discovered at
/// the first call. Never empty: if cores cannot be discovered, each hardware thread of the mask counts as a core.
[[nodiscard]] Cores allowed_cores();

/// The number of threads of each task in this process.
struct ThreadChoice {
  int threads = 1;
  std::string warning;  ///< for the user; empty: none
};

/// The number of tasks of this host that share a resource of a task, including the task itself.
struct Sharers {
  int cores = 1;  ///< tasks with the same mask
  int quota = 1;  ///< tasks in the same control group
};

/// Chooses `wanted` threads; 0 for the default, which is the smaller of two numbers, but at least 1: cores per task
/// that shares them, and quota per task that shares it. More threads than cores in the mask would only take turns: the
/// choice is then the number of cores, with a warning.
[[nodiscard]] ThreadChoice choose_threads(int wanted, const Cores& cores, const Sharers& sharers);

/// Whether threads may be pinned: the launcher gave this process cores that no other task has, and enough of them.
[[nodiscard]] bool may_pin(int threads, const Cores& cores, int sharers);

/// Binds the calling thread to core `index` modulo the number of cores. Ignores an error of the system, since pinning
/// is an optimisation.
void pin_to_core(const Cores& cores, int index);

}  // namespace ferry
