// How the tasks of a job have ended, and what that makes of the job.
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
  int task = -1;        ///< -1: it is the host that failed
  bool killed = false;  ///< the task, by a signal
};

/// Collects failures in the order in which they are noticed.
class JobEnds {
 public:
  /// A task's end; one with exit code 0 is no failure. Returns whether it is one.
  bool add(int task, const std::string& host, const ProcessEnd& end);
  void add(const Error& error, const std::string& host);
  /// The same, for a job that may go on without the task or host: it is a failure if another one follows.
  void lose(int task, const std::string& host, const ProcessEnd& end);
  void lose(const Error& error, const std::string& host);
  /// What was lost, if nothing has failed, first to last.
  [[nodiscard]] std::vector<std::string> lost() const;

  /// From now on tasks end because the launcher asks or kills them; that is no news, unless nothing failed before.
  void intervene() { own_doing_ = true; }

  /// The failure that the job ends with: the first. But a task that ends with Code::peer_lost says that another one was
  /// first, which, on another host, may be noticed later.
  [[nodiscard]] std::optional<TaskFailure> first() const;

 private:
  void note(TaskFailure failure);

  std::vector<TaskFailure> lost_, failures_;
  std::optional<TaskFailure> own_;  // the first that is the launcher's doing
  bool own_doing_ = false;
};

}  // namespace ferry
