// Topology: what the job runs on, as planning sees it. Gathered by Cluster::connect, or read from a description.
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

/// One task: its host, and its resources there.
struct TaskInfo {
  std::string job = "worker";
  std::int32_t index_in_job = 0;
  std::int32_t host = 0;
  std::string host_name;
  std::int32_t threads = 1;
  std::int32_t gpus = 0;
  std::int32_t first_gpu = 0;           ///< its gpu:0 is this one of its host
  std::string no_gpus = {};             ///< why it has none, or not all of its host's; empty: nobody says
  std::uint64_t gpu_memory_bytes = 0;   ///< of each of its GPUs, that plans may use; 0: unlimited
  bool gpu_regions = false;             ///< its GPUs can run tile regions
  std::uint64_t memory_bytes = 0;       ///< that plans may use; 0: unlimited
  std::uint64_t host_memory_bytes = 0;  ///< that all tasks of its host have together; 0: not known
  /// Tasks with the same number, 0 or more, can read and write each other's memory; -1: it shares memory with nobody.
  std::int32_t memory_group = -1;
  /// Tasks with the same number, 0 or more, have GPUs that their library lets work together; -1: it has none of those.
  std::int32_t gpu_group = -1;
  std::string no_gpu_group = {};  ///< why it has none, if it has GPUs; empty: nobody says

  bool operator==(const TaskInfo&) const = default;
};

/// What a message or copy costs on a link: seconds = latency + bytes ÷ bandwidth.
struct LinkCost {
  double latency_seconds = 0;
  double bytes_per_second = 0;
  bool operator==(const LinkCost&) const = default;
};

/// The figures by which plans weigh messages and computing against each other: the built-in ones, or the figures of a
/// cluster file (docs/reference/cluster_format.md).
struct PlanningCosts {
  LinkCost on_host{1e-6, 8e9};
  LinkCost between_hosts{20e-6, 1e9};
  /// Copies between a host and a GPU of it. docs/reference/cluster_format.md has the source of these figures.
  LinkCost host_gpu{10e-6, 55e9};
  /// Messages between GPUs that work together, on one host and on several. Latencies include the library's call.
  LinkCost gpus_on_host{20e-6, 300e9};
  LinkCost gpus_between_hosts{30e-6, 45e9};
  /// Sums over tasks of one host, and over tasks of several: seconds = latency + bytes that a task sends ÷ bandwidth.
  /// Not given: as other messages.
  std::optional<LinkCost> sums_on_host = {}, sums_between_hosts = {};
  ComputeCosts compute;

  bool operator==(const PlanningCosts&) const = default;
};

struct Topology : PlanningCosts {
  std::vector<TaskInfo> tasks;

  [[nodiscard]] int size() const { return static_cast<int>(tasks.size()); }
  /// The global task that `spec` names; Error(plan) if its job or task does not exist; the message lists the existing
  /// ones.
  [[nodiscard]] int resolve(const DeviceSpec& spec) const;
  /// All tasks that `spec` names (its job, or all).
  [[nodiscard]] std::vector<int> tasks_of(const DeviceSpec& spec) const;
  [[nodiscard]] bool on_one_host(std::span<const std::int32_t> group) const;
  /// Whether all of them can read and write each other's memory.
  [[nodiscard]] bool share_memory(std::span<const std::int32_t> group) const;
  /// Whether their GPUs can carry out a collective by themselves.
  [[nodiscard]] bool join_gpus(std::span<const std::int32_t> group) const;
  /// The link that messages between values on devices of this kind take, on one host or between hosts. Where GPUs do
  /// not work together, it is two copies and the hosts' link, one after another.
  [[nodiscard]] LinkCost link(DeviceKind kind, bool one_host, bool gpus_join) const;
  /// The link that sums over hosts' values take.
  [[nodiscard]] LinkCost sums(bool one_host) const;

  /// True if plans have tile regions on GPUs: the GPUs of all tasks that have some can run them.
  [[nodiscard]] bool gpu_regions() const;

  /// n tasks of one host.
  [[nodiscard]] static Topology local(int tasks, int threads = 1);
};

}  // namespace ferry
#pragma GCC visibility pop
