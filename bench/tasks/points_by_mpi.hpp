// Task graphs by hand-written MPI, like Task Bench's MPI program with nonblocking messages.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/graphs/task_graph.hpp"

namespace ferry::bench {

/// Each rank has an equal block of points. In each timestep, a rank starts a receive or a send for each payload that
/// one rank's task takes from another rank's task. Then it waits for all messages, and runs its tasks one after the
/// other. The constructor computes the messages once.
class PointsByMpi {
 public:
  explicit PointsByMpi(const std::string& pattern);
  /// Runs `timesteps` timesteps, with `iterations` iterations of work in each task. All ranks must call it.
  void run(std::int64_t timesteps, std::int64_t iterations);

 private:
  /// A payload that one point sends to another.
  struct Edge {
    std::int64_t from = 0, to = 0;
    std::size_t slot = 0;  ///< index among the receiver's inputs
  };
  struct Timestep {
    std::vector<Edge> local, received, sent;
    /// For each point, the points of the previous timestep from which it takes payloads.
    std::vector<std::vector<std::int64_t>> before;
  };
  [[nodiscard]] Timestep timestep(const std::string& pattern, std::int64_t number) const;
  [[nodiscard]] int rank_of(std::int64_t point) const { return static_cast<int>(point * ranks_ / kPoints); }
  void exchange(const Timestep& timestep);

  static constexpr std::int64_t kPeriod = 3;  ///< number of timesteps after which a pattern repeats
  int rank_ = 0, ranks_ = 1;
  std::vector<Timestep> timesteps_;
  std::vector<Payload> outputs_;
  std::vector<std::vector<Payload>> inputs_;
  std::vector<MPI_Request> requests_;
  std::int64_t now_ = 0;
};

}  // namespace ferry::bench
