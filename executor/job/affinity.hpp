// Affinity: which cores this process may use, how many threads a task gets of them, and pinning.
//
// A launcher gives a process its cores by the affinity mask (Open MPI's mpirun binds each rank to one core by default).
// ferry never leaves the mask. All functions may be called from any thread.
#pragma once

#include <string>
#include <vector>

namespace ferry {

/// The cores that the affinity mask of this process allows, each with its hardware threads that are in the mask.
struct Cores {
  std::vector<std::vector<int>> cpus;  ///< of each core its hardware threads, as the operating system numbers them
  bool whole_machine = true;           ///< the mask has all cores of the machine: no launcher has bound this process

  [[nodiscard]] int count() const { return static_cast<int>(cpus.size()); }
  /// The hardware threads of the mask, "0-3,8".
  [[nodiscard]] std::string str() const;
};

/// The cores in the affinity mask of the calling thread. The mask is read at each call, the machine's cores only at the
/// first. Never empty: if the cores cannot be found out, each hardware thread of the mask counts as one.
[[nodiscard]] Cores allowed_cores();

/// How many threads each task of this process gets.
struct ThreadChoice {
  int threads = 1;
  std::string warning;  ///< for the user; empty when there is nothing to say
};

/// `wanted` threads, or if it is 0, cores ÷ sharers, at least 1. `sharers` is the number of tasks of this host with the
/// same mask, this one included. More threads than cores would only take turns, so there are at most as many as cores;
/// a smaller number than `wanted` comes with a warning.
[[nodiscard]] ThreadChoice choose_threads(int wanted, const Cores& cores, int sharers);

/// True when threads may be pinned: the launcher gave this process cores that no other task has, one for each thread.
[[nodiscard]] bool may_pin(int threads, const Cores& cores, int sharers);

/// Binds the calling thread to core `index` modulo cores.count(). Does nothing where the system refuses: pinning is an
/// optimisation.
void pin_to_core(const Cores& cores, int index);

}  // namespace ferry
