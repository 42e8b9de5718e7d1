// TaskGroup: the tasks of this process and their threads, which Session and PlanSession run on.
#pragma once

#include <functional>
#include <memory>

#include "executor/job/cluster.hpp"
#include "executor/session/session.hpp"

namespace ferry {

class TaskSession;

/// The tasks of this process, each on a thread of its own: the first on the caller's, unless that serves a relay. They
/// begin with the first call of on_all(). Used from one thread.
class TaskGroup {
 public:
  TaskGroup(const Cluster& cluster, SessionOptions options);
  /// Ends a run in another thread with an error, waits for it, and closes.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  [[nodiscard]] const Cluster& cluster() const;
  /// Session::plan. No task is started for it if all tasks are here and nothing has run yet.
  [[nodiscard]] const PlanResult& plan(const Graph& graph, const RunRequest& request);
  /// Calls body(task) for all local tasks concurrently and returns when all have. If some failed, throws the error that
  /// is the cause of the others. Error(usage) when the group is closed, has failed before, or is in a call already;
  /// Error(resource) when the system has no thread for each task.
  void on_all(const std::function<void(TaskSession&)>& body);
  /// on_all; returns the result of the first local task.
  template <class T>
  [[nodiscard]] T of_first(const std::function<T(TaskSession&)>& f) {
    T result{};
    on_all([&](TaskSession& task) {
      T mine = f(task);
      if (is_first(task)) result = std::move(mine);
    });
    return result;
  }
  /// on_all() for a function that returns `count` tensors: each result is the one that a task has defined, if any.
  [[nodiscard]] std::vector<Tensor> tensors(std::size_t count,
                                            const std::function<std::vector<Tensor>(TaskSession&)>& f);
  /// Writes the trace, if one was asked for, and ends the tasks. Nothing can be called after it.
  void close();

 private:
  [[nodiscard]] bool is_first(const TaskSession& task) const;
  void require_usable() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
