// Common to running a graph and running a plan: the job around it, and the output of the results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "runner/options/run_options.hpp"

namespace ferry {

/// Joins or makes the job, calls `body`, and tells the other tasks what it throws. An Error then has the code of the
/// task that failed first, so that all end with the same; Error(preempted) all tasks throw alike. Ctrl-C and SIGTERM
/// end the run in good order; where it saves checkpoints, SIGTERM with one.
void in_job(const JobOptions& options, bool saves, const std::function<void(const Cluster& cluster)>& body);

/// The results of a run whose steps have all succeeded.
struct Results {
  std::vector<std::string> names;  ///< of the fetches
  std::vector<Tensor> fetched;
  TensorMap variables;  ///< with --save
  RunStats stats;       ///< with --stats
};

/// Writes the files that were asked for, or prints a line for each fetch. All processes call it: fetches are written by
/// the one that has them, all else by that of task 0, `is_main`.
void deliver(const RunOptions& options, const Results& results, bool is_main);

}  // namespace ferry
