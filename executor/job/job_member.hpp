// JobMember: one task as a member of its job: it exchanges data with the other tasks, and fails together with them.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/system/time_limit.hpp"
#include "comm/transport.hpp"
#include "executor/job/job_state.hpp"

namespace ferry {

/// One per task and session. Used by that task's thread; other threads may read failed() while no call is running.
class JobMember {
 public:
  JobMember(int task, Transport& transport, const JobState& cluster)
      : task_(task), transport_(transport), cluster_(cluster) {}

  [[nodiscard]] int task() const { return task_; }
  /// The task's index in JobState::local_tasks.
  [[nodiscard]] std::size_t local_index() const;
  [[nodiscard]] Transport& transport() const { return transport_; }
  [[nodiscard]] const JobState& cluster() const { return cluster_; }
  /// The cluster's deadline as a duration, and as a deadline from now.
  [[nodiscard]] TimeLimit limit() const { return {&cluster_.clock(), cluster_.options.deadline}; }
  [[nodiscard]] Deadline deadline() const { return limit().from_now(); }
  /// This task's position, which the job's watch reads; null without a watch.
  [[nodiscard]] Position* position() const { return cluster_.watch ? &cluster_.watch->position(task_) : nullptr; }

  /// Returns the texts of all tasks, in the order of tasks; a lost task's text is empty. All tasks call it.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) const {
    std::vector<std::string> all = transport_.exchange(mine, deadline());
    report_all_called();
    return all;
  }
  /// Call it when the tasks have met in a call of the session (Position::set_all_called).
  void report_all_called() const {
    if (cluster_.watch) position()->set_all_called();
  }
  /// From now on the job continues without the lost tasks among `tasks`, if the transport supports it. All tasks call
  /// it.
  void spare(std::span<const int> tasks);
  /// Returns task 0's `number` on all tasks. All tasks call it.
  [[nodiscard]] double of_first(double number);
  /// Throws the first `problem` that is not empty, in the order of tasks, on all tasks, with that task's `code`.
  /// Otherwise returns the texts `tells` of all tasks; a lost task's text is empty. All tasks call it.
  std::vector<std::string> agree_on_problem(const std::string& problem, Code code, const std::string& tells = {}) const;

  /// Returns f(). An error in it ends the job: the other tasks are informed, and this session cannot be used again.
  template <class F>
  auto guarded(F f) {
    try {
      return f();
    } catch (const Error& error) {
      const Error why = explained(error);
      abort_job(why);
      throw why;
    } catch (...) {
      abort_job(as_error(std::current_exception(), Code::program, "a callback"));
      throw;
    }
  }
  /// Returns f(), in which an Error occurs on all tasks alike, so no task needs to inform the others. After an Error
  /// this session cannot be used again.
  template <class F>
  auto run_collective(F f) {
    try {
      return f();
    } catch (const Error& error) {
      failed_ = true;
      throw cluster_.found_by_all(explained(error));
    }
  }
  /// Like run_collective(), if nothing was exchanged: the session stays usable after an Error.
  template <class F>
  auto run_without_exchange(F f) const {
    try {
      return f();
    } catch (const Error& error) {
      throw cluster_.found_by_all(error);
    }
  }
  /// Returns f(), in which the tasks agree on a call. After Error(usage), the same on all tasks, the session stays
  /// usable.
  template <class F>
  auto agreed(F f) {
    try {
      return f();
    } catch (const Error& error) {
      if (error.code() == Code::usage) throw cluster_.found_by_all(error);
      failed_ = true;
      throw cluster_.found_by_all(explained(error));
    }
  }
  /// The error, with the cause that the job's watch has found (Watch::explained).
  [[nodiscard]] Error explained(const Error& error);
  /// True once an error has made the session unusable.
  [[nodiscard]] bool failed() const { return failed_; }
  /// Aborts the job because this task is out of memory; returns the error to throw.
  [[nodiscard]] Error out_of_memory();

 private:
  void abort_job(const Error& error);

  const int task_;
  Transport& transport_;
  const JobState& cluster_;
  bool failed_ = false;
};

}  // namespace ferry
