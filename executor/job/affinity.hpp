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
  std::vector<std::vector<int>> cpus;  ///< the operating system's numbers, by core
  bool whole_machine = true;           ///< the mask has all of the machine, so nobody has given us cores of our own
  int quota = kNoQuota;                ///< how many threads the control group's quota of processor time keeps busy

  static constexpr int kNoQuota = INT32_MAX;

  [[nodiscard]] int count() const { return static_cast<int>(cpus.size()); }
  /// The hardware threads of the mask, "0-3,8".
  [[nodiscard]] std::string str() const;
};

/// The mask of the calling thread, which is read at each call, by cores, which are discovered at the first call. Never
/// empty: if cores cannot be discovered, each hardware thread of the mask counts as one.
[[nodiscard]] Cores allowed_cores();

/// How many threads each task of this process gets.
struct ThreadChoice {
  int threads = 1;
  std::string warning;  ///< for the user; empty when there is nothing to say
};

/// How many tasks of this host share what a task has, itself included.
struct Sharers {
  int cores = 1;  ///< they have the same mask
  int quota = 1;  ///< they are in the same control group
};

/// `wanted` threads, 0 for the default: the cores divided by the tasks that share them, or the quota divided by those
/// that share it, whichever is less; at least 1. More threads than cores in the mask would only take turns: then it is
/// the number of cores, with a warning.
[[nodiscard]] ThreadChoice choose_threads(int wanted, const Cores& cores, const Sharers& sharers);

/// Whether threads may be pinned: the launcher gave this process cores that no other task has, and enough of them.
[[nodiscard]] bool may_pin(int threads, const Cores& cores, int sharers);

/// Binds the calling thread to core `index` modulo the number of cores. A refusal by the system is ignored, since
/// pinning is an optimisation.
void pin_to_core(const Cores& cores, int index);

}  // namespace ferry
