// The files that the ops of a plan read, which must be the same for all tasks.
#pragma once

#include <set>
#include <string>

#include "executor/job/job_member.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Checks that tasks which run the same op read the same file or folder. It compares the size and a hash of samples of
/// a file, or of the names in a folder. All tasks call it. Nothing is exchanged if no op reads a file or all tasks are
/// in one process. No content is read if all tasks read the file on one host. Used from the task's thread.
class DataFiles {
 public:
  /// `folder`: ExecutionOptions::data_folder; must outlive this object.
  explicit DataFiles(const std::string& folder) : folder_(folder) {}

  /// Throws Error(file), the same on all tasks, if the contents differ. The error names the op, its line, the tasks and
  /// the contents. Each op is compared once.
  void require_same(const Plan& plan, const JobMember& member);

 private:
  const std::string& folder_;
  std::set<std::string, std::less<>> compared_;  // names of ops
};

}  // namespace ferry
