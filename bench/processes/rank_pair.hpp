// Runs ferry-bench-tasks under mpirun: benchmarks of one or two ranks, which run ferry and hand-written MPI in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmark.hpp"

namespace ferry::bench {

/// The benchmark of ferry-bench-tasks to run, and the number of pairs to measure.
struct RankPair {
  std::string what;
  std::int64_t number = 4;  ///< bytes of a message, or threads of a task
  int pairs = kPairs;
};

/// One way to tune Open MPI.
struct Tuning {
  std::string name;
  std::vector<std::string> options;  ///< options of mpirun
};

/// Measures both sides. `mpirun` is the start of the command: mpirun, or a program that starts mpirun, with options.
[[nodiscard]] std::vector<Pair> measure_pairs(const RankPair& wanted, std::vector<std::string> mpirun);

/// Runs one job for each tuning, and returns the figure of the job in which the peer was fastest.
[[nodiscard]] Figure against_best(const RankPair& wanted, const std::vector<std::string>& mpirun,
                                  const std::vector<Tuning>& tunings);

}  // namespace ferry::bench
