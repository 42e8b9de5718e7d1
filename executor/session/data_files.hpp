// The files that the ops of a plan read, which must be the same for all tasks.
#pragma once

#include <set>
#include <string>

#include "executor/job/job_member.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Compares, between tasks that run the same op, the file or folder that it reads, by its size and a hash of samples,
/// or of names. All tasks call it; nothing is exchanged where no op reads a file, or all tasks are in one process, and
/// no content is read where all tasks read the file on one host. Used from the task's thread.
class DataFiles {
 public:
  /// `folder`: ExecutionOptions::data_folder; must outlive this.
  explicit DataFiles(const std::string& folder) : folder_(folder) {}

  /// Error(file), the same on all tasks, names the op, its line, the tasks and the contents. An op is compared once.
  void require_same(const Plan& plan, const JobMember& member);

 private:
  const std::string& folder_;
  std::set<std::string, std::less<>> compared_;  // names of ops
};

}  // namespace ferry
