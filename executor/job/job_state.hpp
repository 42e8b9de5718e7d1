// JobState: the job that a Cluster is a handle to, and this process's transports in it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/backends.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/cluster_options.hpp"
#include "executor/watch/watch.hpp"
#include "kernels/device.hpp"

namespace ferry {

struct JobState {
  JobState();
  /// Leaves the job.
  ~JobState();
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;

  /// Leaves the job in order, except while an exception unwinds the stack: then the other tasks see that this task
  /// failed. Only the first call has an effect.
  void leave();

  /// Starts a failed job again; called at a session's first call, which all tasks make together. Earlier sessions stay
  /// with the failed job. Error(usage) if it cannot start again: with several tasks in each of several processes, or
  /// over several local transports that were made elsewhere. Error(usage) also on a thread that may not use the
  /// transport; the job is then as before. `requesters`: as in Position::Call.
  void renew(std::span<const std::int32_t> requesters);
  /// Error(usage) in a child of fork(), which cannot use the threads and connections of its parent.
  void require_own_process() const;
  [[nodiscard]] bool in_own_process() const;
  /// Error(usage) on another thread than the one that made the Cluster; `call` names the refused call.
  void require_own_thread(const std::string& call) const;
  /// Makes the watch of a job with several tasks, all in this process; called at a session's first call.
  void watch_own_tasks();
  /// The clock of the job's deadlines.
  [[nodiscard]] Clock& clock() const { return watch ? watch->clock() : system_clock(); }
  /// Marks an error that all tasks find alike. The process of task 0 prints it; the other processes print it only if
  /// the launcher does not merge the output of the tasks.
  [[nodiscard]] Error found_by_all(Error error) const;
  /// Whether all tasks of the job run in this process.
  [[nodiscard]] bool all_here() const { return transports.size() == topology.tasks.size(); }

  ClusterOptions options;
  Topology topology;
  std::vector<int> local_tasks;
  std::vector<int> processes;                          ///< by task: the process that runs it
  std::vector<std::unique_ptr<Transport>> transports;  ///< of the local tasks
  std::vector<std::unique_ptr<Transport>> failed;      ///< of earlier, failed jobs: their sessions still refer to them
  bool renewable = false;                              ///< the transports come from inproc_transports(), unwrapped
  const std::int64_t process;                          ///< id of the process that made this state
  const std::thread::id thread;                        ///< the thread that made this state
  std::optional<DeviceLibrary> devices;                ///< the tasks' devices besides their hosts
  std::unique_ptr<HostRelay> relay;                    ///< between processes that run several tasks each; else null
  std::unique_ptr<Watch> watch;  ///< null: one task, or no session has run the tasks of this process
  bool crowded = false;          ///< this host has more threads of ferry than cores
  std::optional<Cores> pins;     ///< cores that only this task uses, to pin its threads to
  /// The TaskSessions of failed sessions: messages of the failed job may use their buffers until the job has started
  /// again (Transport::abort).
  std::vector<std::shared_ptr<void>> failed_sessions;

 private:
  void wait_for_tasks(std::span<const std::int32_t> requesters);
  void replace_by(std::vector<std::unique_ptr<Transport>> fresh);

  bool first_call_made_ = false;  // a session has made its first call
  bool left_ = false;
};

}  // namespace ferry
