// The measurements of `ferry calibrate`: the speeds of a machine and of the links of a job, as planning uses them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "executor/cluster.hpp"
#include "plan/topology/topology.hpp"

namespace ferry::bench {

/// The measured times of all-reduces by size.
struct AllReduceTimes {
  bool one_host = true;  ///< else each member is on another host
  std::int64_t members = 0;
  std::vector<std::pair<std::int64_t, double>> seconds = {};  ///< by bytes, ascending
};

struct Calibration {
  PlanningCosts costs;
  std::vector<AllReduceTimes> sums;  ///< one for each kind of link that the job has and that all-reduces can use
};

/// Measures for about `seconds` seconds. All processes of the job call it together, and no session runs. The costs of
/// computing are the costs of task 0, measured while all processes measure. Links that the job does not have keep their
/// defaults. The result is valid in the process of task 0. Errors as Session::run.
[[nodiscard]] Calibration calibrate(const Cluster& cluster, double seconds);

/// Measures the costs of computing on one task, as a part of calibrate(). `threads`: the number of threads for a second
/// measurement of large kernels.
[[nodiscard]] ComputeCosts measure_computing(int threads, double seconds);

}  // namespace ferry::bench
