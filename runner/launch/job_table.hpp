// The table of a job's tasks that the launcher prints once they are started.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ferry {

/// The tasks of a host, as they were started.
struct HostRow {
  std::string host;
  int first = 0;               ///< number of its first task
  std::vector<int> processes;  ///< a process id for each task
  std::string cores;           ///< "0-3": those that all its tasks may run on
};

/// A line for each task, or for each host when there are more than 16 tasks, under a line of headings; at most one
/// screen.
[[nodiscard]] std::vector<std::string> job_table(std::span<const HostRow> rows);

}  // namespace ferry
