// The options of a Cluster as arguments of a program: taking, checking and applying them.
#pragma once

#include <string_view>
#include <vector>

#include "executor/job/cluster_options.hpp"

namespace ferry {

/// Sets the job name of each task and the task's index in this job, from a text like "ps=0,worker=1-3". Error(usage)
/// for a wrong text.
void apply_jobs(std::string_view jobs, std::vector<TaskInfo>& tasks);

/// Throws Error(usage), which names the number, for the first number in `options` that is out of its range.
void check_options(const ClusterOptions& options);

/// Takes --tasks, --threads, --transport, --interface, --jobs, --deadline, --invariant and --device sim out of argv
/// into `options`. Error(usage) for bad values.
void take_cluster_options(int& argc, char** argv, ClusterOptions& options);

}  // namespace ferry
