// The table of a job's tasks, which the launcher prints when they have started.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ferry {

/// The started tasks of a host.
struct HostRow {
  std::string host;
  int first = 0;               ///< number of its first task
  std::vector<int> processes;  ///< a process id for each task
  std::string cores;           ///< "0-3": the cores that all its tasks may run on
};

/// A line for each task, or for each host if there are more than 16 tasks, below a line of headings. At most one
/// screen.
[[nodiscard]] std::vector<std::string> job_table(std::span<const HostRow> rows);

}  // namespace ferry
