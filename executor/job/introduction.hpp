// Introductions: the data that tasks exchange when they form a job, and the topology that follows from the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/transport.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/cluster_options.hpp"
#include "kernels/device.hpp"
#include "plan/topology/topology.hpp"

namespace ferry {

/// A task's description of itself for the other tasks.
struct Introduction {
  std::string host_name, proof, mask;
  bool whole_machine = true;
  int cores = 1;
  int quota = Cores::kNoQuota;
  std::string quota_group = {};  ///< GroupLimit::group
  int threads = 0;
  std::uint64_t memory_bytes = 0, host_memory_bytes = 0;
  std::uint64_t group_memory_bytes = 0;  ///< limit of its control group; 0: none
  std::string memory_group = {};         ///< GroupLimit::group
  int gpus = 0;
  std::string no_gpus = {};  ///< why it has no GPUs, or not all of its machine's
  bool shares_gpus = false;  ///< `gpus` counts all GPUs of its host, which the tasks of the host share
  std::uint64_t gpu_memory_bytes = 0;
  std::uint64_t gpu_domain = 0;   ///< DeviceTable::group_domain
  std::string no_gpu_group = {};  ///< why its GPUs form no groups
  bool gpu_regions = false;
  std::vector<std::int64_t> lends;          ///< tasks that its transport lends memory to, ascending
  std::optional<PlanningCosts> costs = {};  ///< ClusterOptions::costs
  std::optional<Error> problem;             ///< why it cannot take part in the job
};

/// A task's problem that keeps the job from being formed.
struct JobProblem : Error {
  explicit JobProblem(Error error) : Error(std::move(error)) {}
};

/// Makes this task's introduction, with the resources of its machine; `problem` is empty.
[[nodiscard]] Introduction introduce(const ClusterOptions& options, const std::optional<DeviceLibrary>& devices);

/// Why this task cannot take part in a job with these options; nothing if it can.
[[nodiscard]] std::optional<Error> problem_of(const ClusterOptions& options);

/// Exchanges the introductions of all processes; `end` is this one's transport. Throws, on all tasks, JobProblem for
/// the first problem of a task, Error(plan) for different builds, and Error(usage) for options that differ.
[[nodiscard]] std::vector<Introduction> introductions(Transport& end, const Introduction& me,
                                                      const ClusterOptions& options);

/// For each task, the number of tasks that share its cores, and its quota of processor time.
[[nodiscard]] std::vector<Sharers> sharers_of(const std::vector<Introduction>& tasks);

/// The topology of a job of these tasks.
[[nodiscard]] Topology topology_of(const std::vector<Introduction>& tasks, const ClusterOptions& options);

}  // namespace ferry
