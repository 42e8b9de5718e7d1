// DirectCalls: the direct calls of a process, which keep its job alive.
#pragma once

#include <memory>

#include "executor/direct/direct.hpp"
#include "executor/job/job_state.hpp"

namespace ferry {

/// Owns the queues of calls and the groups. Used from the thread that made the Cluster.
class DirectCalls {
 public:
  explicit DirectCalls(std::shared_ptr<JobState> state);
  /// Leaves the job before the groups go, because other tasks may still use their memory.
  ~DirectCalls();
  DirectCalls(const DirectCalls&) = delete;
  DirectCalls& operator=(const DirectCalls&) = delete;

  /// The group of all tasks.
  [[nodiscard]] DirectGroup& all() { return *all_; }

 private:
  std::shared_ptr<JobState> state_;
  std::unique_ptr<DirectJob> job_;
  std::unique_ptr<DirectGroup> all_;
};

/// Makes the direct calls of a job, and returns its group of all tasks, which keeps them and the job.
[[nodiscard]] std::shared_ptr<DirectGroup> group_of_all_tasks(std::shared_ptr<JobState> state);

}  // namespace ferry
