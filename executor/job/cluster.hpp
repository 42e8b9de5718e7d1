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

/// The number of tasks S for `--invariant` without a value.
inline constexpr int kDefaultShards = 8;
/// The most tasks that a job may have, and threads that a task may have.
inline constexpr int kMostTasks = 1 << 16, kMostThreads = 4096;

/// How a job is formed. The `ferry` command fills it from its options (--tasks, --threads, --transport, --deadline,
/// --jobs, --invariant, …).
struct ClusterOptions {
  int tasks = 0;                              ///< virtual tasks in this process; 0: one, or what the launcher started
  int threads = 0;                            ///< of each task; 0: cores in the affinity mask ÷ tasks that share them
  std::string transport = "auto";             ///< auto, inproc, mpi
  std::string jobs;                           ///< "ps=0,worker=1-3"; empty: all are "worker"
  std::uint64_t memory_bytes = 0;             ///< limit for a task's values; 0: what its host has
  std::chrono::milliseconds deadline{60000};  ///< no progress for this long ends the job
  /// Not 0: the job has this many tasks, however many processes run them (in one process: whatever --tasks is); there
  /// may not be more processes than tasks. Each process hosts a block of tasks, which share its threads and memory.
  /// Results depend on this number alone, bit for bit.
  int invariant = 0;
  /// For virtual tasks. Not 0: plans are made as if this many hosts like this one each had a block of the tasks. 0: all
  /// tasks are on this host.
  int hosts = 0;
  /// Plans are made for this topology, which is not that of the job: they can be looked at, but not run. None: plans
  /// are made for the job's own tasks.
  std::optional<Topology> elsewhere = {};
};

/// A job, seen from one process: all its tasks (virtual tasks, in-process), one of them (under MPI), or a block of them
/// (under MPI with ClusterOptions::invariant). Made by connect or adopt; used from the thread that made it. A handle:
/// copies mean the same job.
///
///     auto cluster = Cluster::connect(argc, argv);
///     cluster.rank();   // 0 … size() - 1
class Cluster {
 public:
  /// Joins the job that the launcher started (mpirun, srun), else makes `options.tasks` virtual tasks. Options given on
  /// the command line as --tasks, --threads, --transport, --jobs, --deadline, --invariant are taken out of argv.
  /// Error(usage) says what is wrong with the launch, Error(plan) which task runs another build of ferry,
  /// Error(stalled) which task did not come.
  [[nodiscard]] static Cluster connect(int& argc, char** argv, ClusterOptions options = {});
  [[nodiscard]] static Cluster connect(ClusterOptions options = {});
  /// A cluster over transports made elsewhere (ferry::adopt, tests).
  [[nodiscard]] static Cluster over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options = {});

  /// This process's task; the first if it has several.
  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// The position of task rank() among the tasks of its host, and the number of these.
  [[nodiscard]] int local_rank() const;
  [[nodiscard]] int local_size() const;
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] const ClusterOptions& options() const;
  /// The tasks that run in this process.
  [[nodiscard]] std::span<const int> local_tasks() const;
  /// The number of the process that runs a task; 0 if all tasks run in one process.
  [[nodiscard]] int process_of(int task) const;
  [[nodiscard]] Transport& transport(int local_task) const;

  /// Returns once all tasks have called it. Error(stalled) after the deadline.
  void barrier() const;

  // Direct calls, without a graph. All tasks make them in the same order, not while a session runs. T: an element type
  // of graph/types/dtype.hpp. Error(usage) where this process has several tasks: one call cannot speak for all of them.
  // Error(stalled) after the deadline. After a failed run these calls fail, too, until the first call of a new session
  // has restarted the job.

  /// values[i] = the fold of all tasks' values[i], in task order: the same bits on every task and over every transport.
  /// All spans have the same size.
  template <class T>
  void all_reduce(std::span<T> values, Reduce reduce = Reduce::sum) const {
    all_reduce_bytes(dtype_of<T>(), std::as_writable_bytes(values), reduce);
  }
  /// values[i] = the mean of all tasks' values[i]: the result of all_reduce(), divided by size(). T: float, double,
  /// Float16 or BFloat16; for the 16-bit types the sum, too, has 16 bits.
  template <class T>
  void all_reduce_mean(std::span<T> values) const {
    static_assert(is_float(dtype_of<T>()), "a mean is of floating-point numbers");
    all_reduce(values);
    using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
    for (T& value : values) value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(size()));
  }
  /// values = those of task `root`. All spans have the same size.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    broadcast_bytes(std::as_writable_bytes(values), root);
  }
  /// The values of all tasks, in task order. Tasks may have different numbers of values.
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
