// Cluster: this process's place in a job, and its tasks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/transport.hpp"
#include "graph/types/dtype.hpp"
#include "graph/types/layout.hpp"
#include "placement/topology/topology.hpp"

namespace ferry {

/// S of `--invariant` where none is given.
inline constexpr int kDefaultShards = 8;
/// Of a job, and of a task.
inline constexpr int kMostTasks = 1 << 16, kMostThreads = 4096;

/// How a job is formed. The `ferry` command fills it from its options (--tasks, --threads, --transport, --deadline,
/// --jobs, --invariant, --device sim).
struct ClusterOptions {
  int tasks = 0;                              ///< virtual tasks in this process; 0: one, or what the launcher started
  int threads = 0;                            ///< of each task; 0: cores of the affinity mask ÷ tasks that share it
  std::string transport = "auto";             ///< auto, inproc, mpi
  std::string jobs;                           ///< "ps=0,worker=1-3"; empty: all are "worker"
  std::uint64_t memory_bytes = 0;             ///< that a task's values may take; 0: what its host has
  std::chrono::milliseconds deadline{60000};  ///< no progress for this long ends the job
  /// Not 0: the job has this many tasks, whatever number of processes runs it (or of --tasks in one process), at most
  /// as many. Each process hosts a block of tasks, which share its threads and memory. Results depend on this number
  /// alone, bit for bit.
  int invariant = 0;
  /// Of virtual tasks: plans are made as if so many hosts like this one shared them, in order; 0: they are on this one.
  int hosts = 0;
  /// Each task has simulated GPUs (kernels/device.hpp); the seed decides in which order they do what has none.
  std::optional<std::uint64_t> simulated = {};
  /// Plans are made for this, which is somewhere else: there is nothing to run on. None: for the tasks that there are.
  std::optional<Topology> elsewhere = {};
};

/// The seed that --device gives simulated devices, in "sim" (1) or "sim:SEED"; nothing for any other text. Error(usage)
/// for a seed that is no number.
[[nodiscard]] std::optional<std::uint64_t> simulation_seed(std::string_view device);

/// A job, seen from one process: all its tasks (virtual tasks, in-process), one of them (under MPI), or a block of them
/// (under MPI with ClusterOptions::invariant). Made by connect or adopt; used from the thread that made it. A handle:
/// copies mean the same job.
///
///     auto cluster = Cluster::connect(argc, argv);
///     cluster.rank();   // 0 … size() - 1
class Cluster {
 public:
  /// Joins the job that the launcher started (mpirun, srun), else makes `options.tasks` virtual tasks. Options given on
  /// the command line as --tasks, --threads, --transport, --jobs, --deadline, --invariant, --device sim are taken out
  /// of argv. Error(usage) says what is wrong with the launch, Error(plan) which task runs another build of ferry,
  /// Error(stalled) which task did not come.
  [[nodiscard]] static Cluster connect(int& argc, char** argv, ClusterOptions options = {});
  [[nodiscard]] static Cluster connect(ClusterOptions options = {});
  /// A cluster over transports made elsewhere (ferry::adopt, tests).
  [[nodiscard]] static Cluster over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options = {});

  /// This process's task, the first if there are several; 0 when all are here.
  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// The number of this process's task among the tasks of its host, and how many these are.
  [[nodiscard]] int local_rank() const;
  [[nodiscard]] int local_size() const;
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] const ClusterOptions& options() const;
  /// The tasks that run in this process.
  [[nodiscard]] std::span<const int> local_tasks() const;
  /// The process that runs a task: 0 for all when they run here.
  [[nodiscard]] int process_of(int task) const;
  [[nodiscard]] Transport& transport(int local_task) const;

  /// Returns when all tasks have come.
  void barrier() const;

  // Direct calls, without a graph. All tasks make them in the same order, not while a session runs. T: an element type
  // of graph/types/dtype.hpp. Error(usage) where this process has several tasks: one call cannot speak for all of them.
  // Error(stalled) after the deadline. After a run that failed they fail, too, until a new session has begun the job
  // anew with its first call.

  /// values[i] = the fold of all tasks' values[i], in task order: the same bits on every task and over every transport.
  /// All spans have one size.
  template <class T>
  void all_reduce(std::span<T> values, Reduce reduce = Reduce::sum) const {
    all_reduce_bytes(dtype_of<T>(), std::as_writable_bytes(values), reduce);
  }
  /// values[i] = the mean of all tasks' values[i]: their sum as all_reduce() gives it, divided by size(). T: float,
  /// double, Float16 or BFloat16; of 16 bits the sum is one of 16 bits.
  template <class T>
  void all_reduce_mean(std::span<T> values) const {
    static_assert(is_float(dtype_of<T>()), "a mean is of floating-point numbers");
    all_reduce(values);
    using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
    for (T& value : values) value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(size()));
  }
  /// values = those of task `root`. All spans have one size.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    broadcast_bytes(std::as_writable_bytes(values), root);
  }
  /// The values of all tasks, in task order; each may have another number of them.
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(std::span<const T> mine) const {
    std::vector<T> all;
    all_gather_bytes(std::as_bytes(mine), [&](std::size_t bytes) {
      all.resize(bytes / sizeof(T));
      return std::as_writable_bytes(std::span<T>(all));
    });
    return all;
  }

  struct State;
  explicit Cluster(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] State& state() const { return *state_; }

 private:
  using Room = std::function<std::span<std::byte>(std::size_t bytes)>;
  void all_reduce_bytes(DType dtype, std::span<std::byte> values, Reduce reduce) const;
  void broadcast_bytes(std::span<std::byte> values, int root) const;
  void all_gather_bytes(std::span<const std::byte> mine, const Room& room) const;

  std::shared_ptr<State> state_;
};

}  // namespace ferry
