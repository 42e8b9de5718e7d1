// Benchmarks between two ranks, each of which runs ferry and hand-written MPI in turn: ferry-bench-tasks under mpirun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmark.hpp"

namespace ferry::bench {

/// Which benchmark of ferry-bench-tasks, and how often.
struct RankPair {
  std::string what;
  std::int64_t number = 4;  ///< bytes of a message, or threads of a task
  int pairs = 15;
};

/// How Open MPI may be tuned.
struct Tuning {
  std::string name;
  std::vector<std::string> options;  ///< of mpirun
};

/// The times of both sides. `mpirun` is the beginning of the command: mpirun, or a program that starts it, and options.
[[nodiscard]] std::vector<Pair> measured(const RankPair& wanted, std::vector<std::string> mpirun);

/// Measures in one job for each tuning; the job in which the peer was fastest counts.
[[nodiscard]] Figure against_best(const RankPair& wanted, const std::vector<std::string>& mpirun,
                                  const std::vector<Tuning>& tunings);

}  // namespace ferry::bench
