// What a Cluster is a handle to.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/backends.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/cluster.hpp"

namespace ferry {

struct Cluster::State {
  State();
  /// Closes the transports, but not while an exception unwinds the stack: then the other tasks see that this one has
  /// failed. Does nothing in a child of fork().
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Restarts the job if it has failed. Called at a session's first call, which all tasks make together. Earlier
  /// sessions stay with the failed job. Error(usage) where a job cannot be restarted, because several processes have
  /// several tasks each.
  void renew();
  /// Error(usage) in a child of fork(), which has neither the threads nor the connections of its parent.
  void require_own_process() const;
  [[nodiscard]] bool in_own_process() const;
  /// All tasks of the job run in this process.
  [[nodiscard]] bool all_here() const { return transports.size() == topology.tasks.size(); }

  ClusterOptions options;
  Topology topology;
  std::vector<int> local_tasks;
  std::vector<int> processes;                          ///< of each task
  std::vector<std::unique_ptr<Transport>> transports;  ///< of the local tasks
  std::vector<std::unique_ptr<Transport>> failed;      ///< of earlier, failed jobs: their sessions still refer to them
  bool renewable = false;                              ///< inproc_transports() made all, and can make new ones
  const std::int64_t process;                          ///< id of the process that made this
  std::unique_ptr<HostRelay> relay;                    ///< between processes that run several tasks each; else null
  bool crowded = false;                                ///< this host has more threads of ferry than cores
  std::optional<Cores> pins;                           ///< cores to pin this task's threads to; none: do not pin
  /// The tasks of failed sessions. They must live until the job has been restarted, as transfers of the failed job may
  /// still use their buffers (Transport::abort).
  std::vector<std::shared_ptr<void>> kept;

 private:
  void meet();
  void replace_by(std::vector<std::unique_ptr<Transport>> fresh);
};

/// Sets each task's job and its index in that, from a text such as "ps=0,worker=1-3". Error(usage) says what is wrong
/// with the text.
void apply_jobs(std::string_view jobs, std::vector<TaskInfo>& tasks);

/// Takes --tasks, --threads, --transport, --jobs, --deadline and --invariant out of argv into `options`. Error(usage)
/// for bad values.
void take_cluster_options(int& argc, char** argv, ClusterOptions& options);

}  // namespace ferry
