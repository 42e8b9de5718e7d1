// Topology: the hosts, tasks, devices and links of a job, as planning uses them. Cluster::connect gathers them, or they
// are read from a description.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/op/compute_costs.hpp"
#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// One task: its host, and its resources on the host.
struct TaskInfo {
  std::string job = "worker";           ///< name of its job
  std::int32_t index_in_job = 0;        ///< its number in the job, as in "/task:0"
  std::int32_t host = 0;                ///< number of its host, from 0
  std::string host_name;                ///< name of its host
  std::int32_t threads = 1;             ///< number of its threads
  std::int32_t gpus = 0;                ///< number of its GPUs
  std::int32_t first_gpu = 0;           ///< the index on its host of the task's gpu:0
  std::string no_gpus = {};             ///< why it has no GPU, or not all GPUs of its host; empty: unknown
  std::uint64_t gpu_memory_bytes = 0;   ///< memory of each of its GPUs for plans; 0: unlimited
  bool gpu_regions = false;             ///< its GPUs can run tile regions
  std::uint64_t memory_bytes = 0;       ///< memory for plans; 0: unlimited
  std::uint64_t host_memory_bytes = 0;  ///< memory of all tasks of its host together; 0: unknown
  /// Tasks with the same number, 0 or more, can read and write each other's memory; -1: the task shares no memory.
  std::int32_t memory_group = -1;
  /// Tasks with the same number, 0 or more, have GPUs that can work together by their library; -1: the task has no such
  /// GPUs.
  std::int32_t gpu_group = -1;
  std::string no_gpu_group = {};  ///< why gpu_group is -1 although the task has GPUs; empty: unknown

  bool operator==(const TaskInfo&) const = default;
};

/// The cost of a message or copy on a link: seconds = latency + bytes ÷ bandwidth.
struct LinkCost {
  double latency_seconds = 0;   ///< time of an empty message
  double bytes_per_second = 0;  ///< bandwidth
  bool operator==(const LinkCost&) const = default;
};

/// The costs of messages and computing that planning uses: the built-in figures, or the figures of a cluster file
/// (docs/reference/cluster_format.md).
struct PlanningCosts {
  LinkCost on_host{1e-6, 8e9};         ///< messages between tasks of one host
  LinkCost between_hosts{20e-6, 1e9};  ///< messages between hosts
  /// Copies between a host and one of its GPUs. docs/reference/cluster_format.md has the source of these figures.
  LinkCost host_gpu{10e-6, 55e9};
  /// Messages between GPUs that work together, on one host and on several hosts. Latencies include the library's call.
  LinkCost gpus_on_host{20e-6, 300e9};
  LinkCost gpus_between_hosts{30e-6, 45e9};  ///< on several hosts
  /// Sums over tasks of one host, and over tasks of several hosts: seconds = latency + bytes that a task sends ÷
  /// bandwidth. Not given: the same as other messages.
  std::optional<LinkCost> sums_on_host = {}, sums_between_hosts = {};
  ComputeCosts compute;  ///< costs of arithmetic and memory

  bool operator==(const PlanningCosts&) const = default;
};
/// The tasks of a job, and the costs of their messages and computing.
struct Topology : PlanningCosts {
  std::vector<TaskInfo> tasks;  ///< by their numbers in the job

  [[nodiscard]] int size() const { return static_cast<int>(tasks.size()); }
  /// The global task that `spec` names. Throws Error(plan) if its job or task does not exist; the message lists the
  /// existing jobs and tasks.
  [[nodiscard]] int resolve(const DeviceSpec& spec) const;
  /// All tasks that `spec` names: the tasks of its job, or of all jobs.
  [[nodiscard]] std::vector<int> tasks_of(const DeviceSpec& spec) const;
  [[nodiscard]] bool on_one_host(std::span<const std::int32_t> group) const;
  /// Whether all tasks of the group can read and write each other's memory.
  [[nodiscard]] bool share_memory(std::span<const std::int32_t> group) const;
  /// Whether the GPUs of the group can carry out a collective without their hosts.
  [[nodiscard]] bool join_gpus(std::span<const std::int32_t> group) const;
  /// The link for messages between values on devices of this kind, on one host or between hosts. If the GPUs do not
  /// work together, it stands for two copies and the hosts' link, one after another.
  [[nodiscard]] LinkCost link(DeviceKind kind, bool one_host, bool gpus_join) const;
  /// The link for sums over values in host memory.
  [[nodiscard]] LinkCost sums(bool one_host) const;

  /// True if plans may have tile regions on GPUs: the GPUs of all tasks with GPUs can run them.
  [[nodiscard]] bool gpu_regions() const;

  /// A topology of `tasks` tasks on one host.
  [[nodiscard]] static Topology local(int tasks, int threads = 1);
};

}  // namespace ferry
#pragma GCC visibility pop
