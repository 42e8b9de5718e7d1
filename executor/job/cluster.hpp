// Cluster: this process's place in a job, and its tasks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/milliseconds.hpp"
#include "executor/job/collectives.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Transport;
struct DeviceLibrary;

/// The number of shards for `--invariant` without a number.
inline constexpr int kDefaultShards = 8;
/// The most tasks of a job, and the most threads of a task.
inline constexpr int kMostTasks = 1 << 16, kMostThreads = 4096;

/// How a job is formed. The `ferry` command fills it from its options (--tasks, --threads, --transport, --interface,
/// --deadline, --jobs, --invariant, --device sim).
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
[[nodiscard]] int launched_tasks(const ClusterOptions& options);
/// The number of this process among the launcher's processes. Error(usage) as launched_tasks().
[[nodiscard]] int launched_task(const ClusterOptions& options);

/// The seed of simulated devices in the value of --device: 1 for "sim", SEED for "sim:SEED", nothing for any other
/// text. Error(usage) for a seed that is no number.
[[nodiscard]] std::optional<std::uint64_t> simulation_seed(std::string_view device);

/// A job, seen from one process. The process runs all tasks (virtual tasks), one task (if a launcher started several
/// processes), or a block of tasks (a launcher with ClusterOptions::invariant). Made by connect() or ferry::adopt();
/// used from the thread that made it. A Cluster is a handle: copies refer to the same job. All tasks of the job take
/// part in its direct calls (Collectives).
///
///     auto cluster = Cluster::connect(argc, argv);
///     cluster.rank();   // 0 … size() - 1
class Cluster : public Collectives {
 public:
  /// Joins the job that was started by mpirun, srun, or any launcher that sets RANK, WORLD_SIZE, and either MASTER_ADDR
  /// and MASTER_PORT or FERRY_RENDEZVOUS. Without a launcher, makes `options.tasks` virtual tasks. Options given on the
  /// command line as --tasks, --threads, --transport, --interface, --jobs, --deadline, --invariant, --device sim are
  /// taken out of argv. Error(usage) for a wrong launch or option, Error(plan) when a task runs another build of ferry,
  /// Error(stalled) when a task does not connect before the deadline.
  [[nodiscard]] static Cluster connect(int& argc, char** argv, ClusterOptions options = {});
  [[nodiscard]] static Cluster connect(ClusterOptions options = {});
  /// Throws `error`, which keeps this process from taking part in the job. Before that it meets the other processes,
  /// only to report the error: their connect() throws it, too. If the launcher merges the output of the tasks, the
  /// error is printed once, even if all processes have it.
  [[noreturn]] static void decline(ClusterOptions options, const Error& error);
  /// A cluster over transports (comm/transport.hpp) made elsewhere (ferry::adopt, tests).
  [[nodiscard]] static Cluster over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options = {});

  /// This process's task, or the first one if it has several.
  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// local_rank(): the number of task rank() among the tasks of its host. local_size(): how many tasks its host has.
  [[nodiscard]] int local_rank() const;
  [[nodiscard]] int local_size() const;
  [[nodiscard]] const Topology& topology() const;
  /// Descriptions of the GPUs of task rank(), for people.
  [[nodiscard]] std::vector<std::string> gpus() const;
  [[nodiscard]] const ClusterOptions& options() const;
  /// The tasks that run in this process.
  [[nodiscard]] std::span<const int> local_tasks() const;
  /// The number of the process that runs a task; 0 if all tasks run in one process.
  [[nodiscard]] int process_of(int task) const;
  [[nodiscard]] Transport& transport(int local_task) const;

  /// Returns when all processes of the job have called it. Errors as Collectives.
  void barrier(source_location at = source_location::current()) const;
  /// Returns the texts `mine` of all processes, in their order. All processes call it, but not while a session runs.
  [[nodiscard]] std::vector<std::string> exchange(std::string_view mine) const;

  struct State;
  explicit Cluster(std::shared_ptr<State> state);
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
