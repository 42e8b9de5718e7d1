// What a Cluster is a handle to.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/backends.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/cluster.hpp"
#include "kernels/device.hpp"

namespace ferry {

struct Cluster::State {
  State();
  /// Leaves the job in order; while an exception unwinds the stack it does not, so that the others see a failed task.
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// At a session's first call, which all tasks make together: a job that has failed begins anew. Sessions that ran
  /// before keep to the failed one. Error(usage) where it cannot begin anew: several tasks in each of several
  /// processes.
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
  bool renewable = false;                              ///< made by inproc_transports() alone
  const std::int64_t process;                          ///< id of the process that made this
  std::optional<DeviceLibrary> devices;                ///< that the tasks have besides their hosts
  std::unique_ptr<HostRelay> relay;                    ///< between processes that run several tasks each; else null
  bool crowded = false;                                ///< this host has more threads of ferry than cores
  std::optional<Cores> pins;                           ///< cores that are this task's alone, for its threads
  /// Tasks of failed sessions: messages of the failed job may still use their buffers, until it has begun anew
  /// (Transport::abort).
  std::vector<std::shared_ptr<void>> kept;

 private:
  void meet();
  void replace_by(std::vector<std::unique_ptr<Transport>> fresh);
};

/// "ps=0,worker=1-3" applied to the tasks; Error(usage) points at what is wrong.
void apply_jobs(std::string_view jobs, std::vector<TaskInfo>& tasks);

/// Takes --tasks, --threads, --transport, --jobs, --deadline, --invariant and --device sim out of argv into `options`.
/// Error(usage) for bad values.
void take_cluster_options(int& argc, char** argv, ClusterOptions& options);

}  // namespace ferry
