// JobEnds: collects how the tasks of a job ended, and decides how the job has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/process/process.hpp"

namespace ferry {

/// A task, or a host with all its tasks, that has failed.
struct TaskFailure {
  int code = 0;      ///< exit code
  std::string text;  ///< "task 1 on h2 was killed by signal 9 (Killed)"
  std::string host;
  int task = -1;        ///< -1: the host has failed
  bool killed = false;  ///< a signal killed the task
};

/// Collects failures in the order in which they are noticed.
class JobEnds {
 public:
  /// Adds the end of a task. Returns whether it is a failure: its exit code is not 0.
  bool add(int task, const std::string& host, const ProcessEnd& end);
  void add(const Error& error, const std::string& host);
  /// The same for a task or host that the job may lose. The loss becomes the failure of the job only if another task
  /// then fails because it lost a peer.
  void add_loss(int task, const std::string& host, const ProcessEnd& end);
  void add_loss(const Error& error, const std::string& host);
  /// Descriptions of the lost tasks and hosts, the first one first.
  [[nodiscard]] std::vector<std::string> lost() const;

  /// Call it before the launcher asks tasks to end or kills them: their ends count only if nothing failed before.
  void begin_shutdown() { shutting_down_ = true; }

  /// The failure that the job ends with: the first one. But a task that ends with Code::peer_lost shows that another
  /// task failed first; if that task is on another host, its failure may be noticed later.
  [[nodiscard]] std::optional<TaskFailure> first() const;

 private:
  void add_failure(TaskFailure failure);

  std::vector<TaskFailure> lost_, failures_;
  std::optional<TaskFailure> shutdown_failure_;  // the first failure after begin_shutdown()
  bool shutting_down_ = false;
};

}  // namespace ferry
