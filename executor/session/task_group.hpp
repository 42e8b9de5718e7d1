// TaskGroup: the tasks of this process and their threads, for all kinds of sessions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/cluster.hpp"
#include "executor/session/session_types.hpp"
#include "plan/equal/equal.hpp"

namespace ferry {

class TaskSession;
struct Plan;
struct PlanResult;
struct VerifiedPlan;

/// The tasks of this process, each on its own thread. The first runs on the caller's thread, unless that thread serves
/// the relay (HostRelay). Tasks and threads are made by the first call of on_all(). Used from one thread.
class TaskGroup {
 public:
  TaskGroup(const Cluster& cluster, SessionOptions options);
  /// If another thread is in a run, ends the run with Error(interrupted) and waits for it. Then closes.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  [[nodiscard]] const Cluster& cluster() const;
  [[nodiscard]] const SessionOptions& options() const;
  /// Session::plan. Starts no tasks if all tasks of the job are in this process and nothing has run yet.
  [[nodiscard]] const PlanResult& plan(const Graph& graph, const RunRequest& request);
  /// The signature of the request's planned step for tasks of that topology. Exchanges nothing with other processes.
  [[nodiscard]] Signature signature(const Graph& graph, const RunRequest& request, const Topology& topology) const;
  /// SessionPlans::ProcessPlans::compare.
  [[nodiscard]] Equality compare(const Graph& graph, const Signature& signature, const Plan& plan);
  /// Checks an existing plan: SessionPlans::ProcessPlans::given.
  [[nodiscard]] std::shared_ptr<const VerifiedPlan> given(Plan plan) const;
  /// Calls body(task) for all local tasks at once and returns when all calls have returned. Then throws the error of
  /// the lowest task. An error that only reports another task's failure (peer_lost) is thrown only if there is no other
  /// error. Error(usage) when the group is closed, has failed before, or is in a call already; Error(resource) when the
  /// system gives too few threads. `requesters`: as in Position::Call.
  void on_all(const std::function<void(TaskSession&)>& body, std::span<const std::int32_t> requesters = kFirst);
  /// As on_all; returns the result of the first local task.
  template <class T>
  [[nodiscard]] T of_first(const std::function<T(TaskSession&)>& f) {
    T result{};
    on_all([&](TaskSession& task) {
      T mine = f(task);
      if (is_first(task)) result = std::move(mine);
    });
    return result;
  }
  /// As on_all, for a function that returns tensors; task tasks[i] defines the i-th tensor. Returns these tensors, and
  /// Tensor::fetched_to() in place of a tensor of another process's task. For PlanPort::kEachTask it returns a tensor
  /// for each task of this process. `requester`: a requester (Position::Call) besides task 0.
  [[nodiscard]] std::vector<Tensor> tensors(std::span<const std::int32_t> tasks, std::int32_t requester,
                                            const std::function<std::vector<Tensor>(TaskSession&)>& f);
  /// Writes the trace, if the options ask for one, and ends the tasks. No function can be called after close().
  void close();

 private:
  static constexpr std::int32_t kFirst[] = {0};

  [[nodiscard]] bool is_first(const TaskSession& task) const;
  void require_usable() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
