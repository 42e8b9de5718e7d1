// Task graphs by hand-written MPI, done as in Task Bench's MPI program with nonblocking messages.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/graphs/task_graph.hpp"

namespace ferry::bench {

/// The points are dealt out to the ranks in equal blocks. In each timestep a rank starts a receive and a send for each
/// payload that a task takes from a task of another rank, waits for all, and runs its tasks one after the other. Which
/// payloads go where is computed once, in the constructor.
class PointsByMpi {
 public:
  explicit PointsByMpi(const std::string& pattern);
  /// Runs this many timesteps, with this many iterations of work in each task. All ranks must call it.
  void run(std::int64_t timesteps, std::int64_t iterations);

 private:
  /// A payload on its way between two points.
  struct Edge {
    std::int64_t from = 0, to = 0;
    std::size_t slot = 0;  ///< index among the receiver's inputs
  };
  struct Timestep {
    std::vector<Edge> local, received, sent;
    std::vector<std::vector<std::int64_t>> before;  ///< for each point the points with payloads that it takes
  };
  [[nodiscard]] Timestep timestep(const std::string& pattern, std::int64_t number) const;
  [[nodiscard]] int rank_of(std::int64_t point) const { return static_cast<int>(point * ranks_ / kPoints); }
  void exchange(const Timestep& timestep);

  static constexpr std::int64_t kPeriod = 3;  ///< timesteps after which a pattern repeats
  int rank_ = 0, ranks_ = 1;
  std::vector<Timestep> timesteps_;
  std::vector<Payload> outputs_;
  std::vector<std::vector<Payload>> inputs_;
  std::vector<MPI_Request> requests_;
  std::int64_t now_ = 0;
};

}  // namespace ferry::bench
