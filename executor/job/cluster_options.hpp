// ClusterOptions: how a job is formed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/milliseconds.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct DeviceLibrary;

/// The number of shards for `--invariant` without a number.
inline constexpr int kDefaultShards = 8;
/// The most tasks of a job, and the most threads of a task.
inline constexpr int kMostTasks = 1 << 16, kMostThreads = 4096;

/// How a job is formed. The `ferry` command fills it from its options (--tasks, --threads, --transport, --interface,
/// --deadline, --jobs, --invariant, --device sim).
///
///     Cluster cluster = Cluster::connect({.tasks = 4, .threads = 2, .transport = "inproc"});
struct ClusterOptions {
  int tasks = 0;                       ///< virtual tasks in this process; 0: one, or the launcher's tasks
  int threads = 0;                     ///< of each task; 0: cores in the affinity mask ÷ tasks that share them
  std::string transport = "auto";      ///< auto, inproc, mpi, tcp
  std::string interface = {};          ///< over tcp: the interface to listen on, by name or address
  std::string jobs = {};               ///< "ps=0,worker=1-3"; empty: all are "worker"
  std::uint64_t memory_bytes = 0;      ///< limit for the values of a task; 0: its host's memory
  std::uint64_t gpu_memory_bytes = 0;  ///< limit for the values on each GPU; 0: the free memory
  Milliseconds deadline{60000};        ///< no progress for this long ends the job
  /// Not 0: the number of tasks (shards) of the job. Up to as many processes, or --tasks in one process, run it. Each
  /// process hosts a block of tasks, which share its threads and memory. Results depend, bit for bit, on this number
  /// and not on the number of processes.
  int invariant = 0;
  /// Not 0: plans for virtual tasks are made as if the tasks were spread, in order, over this many hosts like this one.
  int hosts = 0;
  /// Given: each task has simulated GPUs (kernels/device.hpp). The seed decides the order of work that may run in any
  /// order.
  std::optional<std::uint64_t> simulated = {};
  /// More options, by name, that must be the same on all tasks, such as {"--seed", "1"}: connect() compares them.
  std::map<std::string, std::string> alike = {};
  /// Given: ferry makes plans for this topology of other machines, and cannot run them. Not given: ferry plans for the
  /// job's own tasks.
  std::optional<Topology> elsewhere = {};
  /// Given on task 0: the plans of the job use these costs of links and computing. Task 0 sends them to the other
  /// tasks.
  std::optional<PlanningCosts> costs = {};
};

/// The devices, besides the host (kernels/device.hpp), of a job with these options. Nothing if the job has only hosts;
/// `why` then has the reason.
[[nodiscard]] std::optional<DeviceLibrary> devices_of(const ClusterOptions& options, std::string& why);

/// The number of processes that the launcher started; 1 without a launcher. Error(usage) if the launcher's variables
/// are wrong.
///
///     if (launched_tasks({}) == 1) std::cout << "no launcher, or a job of one process\n";
[[nodiscard]] int launched_tasks(const ClusterOptions& options);

/// The number of this process among the launcher's processes. Error(usage) as launched_tasks().
///
///     const bool prints = launched_task({}) == 0;
[[nodiscard]] int launched_task(const ClusterOptions& options);

/// The seed of simulated devices in the value of --device: 1 for "sim", SEED for "sim:SEED", nothing for any other
/// text. Error(usage) for a seed that is no number.
[[nodiscard]] std::optional<std::uint64_t> simulation_seed(std::string_view device);

}  // namespace ferry
#pragma GCC visibility pop
