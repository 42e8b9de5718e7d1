// Cluster: this process's place in a job, and its tasks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "executor/direct/collectives.hpp"
#include "executor/job/cluster_options.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Transport;
struct JobState;

/// A job, seen from one process. The process runs all tasks (virtual tasks), one task (if a launcher started several
/// processes), or a block of tasks (a launcher with ClusterOptions::invariant). Made by connect() or ferry::adopt();
/// used from the thread that made it. A Cluster is a handle: copies refer to the same job. All tasks of the job take
/// part in its direct calls (Collectives).
///
///     const Cluster cluster = Cluster::connect(argc, argv);
///     std::cout << "task " << cluster.rank() << " of " << cluster.size() << "\n";
class Cluster : public Collectives {
 public:
  /// Joins the job that was started by mpirun, srun, or any launcher that sets RANK, WORLD_SIZE, and either MASTER_ADDR
  /// and MASTER_PORT or FERRY_RENDEZVOUS. Without a launcher, makes `options.tasks` virtual tasks. Options given on the
  /// command line as --tasks, --threads, --transport, --interface, --jobs, --deadline, --invariant, --device sim are
  /// taken out of argv. Error(usage) for a wrong launch or option, Error(plan) when a task runs another build of ferry,
  /// Error(stalled) when a task does not connect before the deadline.
  [[nodiscard]] static Cluster connect(int& argc, char** argv, ClusterOptions options = {});

  /// The same without a command line.
  ///
  ///     Cluster::connect({.tasks = 4}).size();  // 4
  [[nodiscard]] static Cluster connect(ClusterOptions options = {});
  /// Throws `error`, which keeps this process from taking part in the job. Before that it meets the other processes,
  /// only to report the error: their connect() throws it, too. If the launcher merges the output of the tasks, the
  /// error is printed once, even if all processes have it.
  [[noreturn]] static void decline(ClusterOptions options, const Error& error);
  /// A cluster over transports (comm/transport.hpp) made elsewhere (ferry::adopt, tests).
  [[nodiscard]] static Cluster over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options = {});

  /// This process's task, or the first one if it has several.
  [[nodiscard]] int rank() const;
  /// The number of tasks of the job.
  [[nodiscard]] int size() const;
  /// local_rank(): the number of task rank() among the tasks of its host. local_size(): how many tasks its host has.
  [[nodiscard]] int local_rank() const;
  [[nodiscard]] int local_size() const;
  /// The tasks' hosts, devices and memory.
  [[nodiscard]] const Topology& topology() const;
  /// Descriptions of the GPUs of task rank(), for people.
  [[nodiscard]] std::vector<std::string> gpus() const;
  /// The options with which the cluster was made.
  [[nodiscard]] const ClusterOptions& options() const;
  /// The tasks that run in this process.
  [[nodiscard]] std::span<const int> local_tasks() const;
  /// The number of the process that runs a task; 0 if all tasks run in one process.
  [[nodiscard]] int process_of(int task) const;
  /// The transport of task local_tasks()[local_task], for ferry's own use.
  [[nodiscard]] Transport& transport(int local_task) const;

  /// Returns when all processes of the job have called it. Errors as Collectives.
  ///
  ///     cluster.barrier();
  void barrier(source_location at = source_location::current()) const;

  /// Returns the texts `mine` of all processes, in their order. All processes call it, but not while a session runs.
  ///
  ///     std::vector<std::string> hosts = cluster.exchange("host" + std::to_string(cluster.rank()));
  [[nodiscard]] std::vector<std::string> exchange(std::string_view mine) const;

  [[nodiscard]] JobState& state() const { return *job_; }

 private:
  explicit Cluster(std::shared_ptr<JobState> job);

  std::shared_ptr<JobState> job_;
};

}  // namespace ferry
#pragma GCC visibility pop
