// The nodes of a SLURM allocation (salloc, sbatch), on which `ferry launch` starts tasks by srun.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/launch/hosts.hpp"

namespace ferry {

/// The nodes of the allocation that this process belongs to: SLURM_JOB_NODELIST, with as many slots as
/// SLURM_TASKS_PER_NODE says. Nothing outside of an allocation. Error(usage) for values that cannot be read.
[[nodiscard]] std::optional<std::vector<LaunchHost>> allocated_hosts();

/// The names in a list of SLURM's: "n[01-03,7],login" are n01, n02, n03, n7 and login. Error(usage) for malformed
/// lists, or more than 65,536 names.
[[nodiscard]] std::vector<std::string> parse_nodelist(std::string_view text);
/// The numbers in "2(x3),1": 2, 2, 2, 1. Errors as above.
[[nodiscard]] std::vector<int> parse_node_counts(std::string_view text);

/// The command that runs a program on a node, up to the program.
[[nodiscard]] std::vector<std::string> srun_command(const std::string& node);

}  // namespace ferry
