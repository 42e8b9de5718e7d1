// Reads the nodes of a SLURM allocation (salloc, sbatch). `ferry launch` starts tasks on them with srun.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/process.hpp"
#include "runner/launch/hosts.hpp"

namespace ferry {

/// The nodes of the allocation that this process belongs to (SLURM_JOB_NODELIST), with the slots in
/// SLURM_TASKS_PER_NODE. A heterogeneous job (SLURM_HET_SIZE) has both variables for each of its components:
/// SLURM_JOB_NODELIST_HET_GROUP_0 and so on. Nothing outside of an allocation. Error(usage) for malformed values.
[[nodiscard]] std::optional<std::vector<LaunchHost>> allocated_hosts();

/// The names in a node list of SLURM: "n[01-03,7],login" are n01, n02, n03, n7 and login. Error(usage) for malformed
/// lists, or more than 65,536 names, with the name of the `variable` that has the text.
[[nodiscard]] std::vector<std::string> parse_nodelist(std::string_view text, const std::string& variable);
/// The numbers in "2(x3),1": 2, 2, 2, 1. The errors are the same.
[[nodiscard]] std::vector<int> parse_node_counts(std::string_view text, const std::string& variable);

/// Whether this process runs in a step of a SLURM job: a batch script, an interactive step or a task of srun. SLURM
/// gives such a process only CPUs of the job, but not the command of salloc.
[[nodiscard]] bool in_slurm_step();

/// The srun that runs a program on a node, on all CPUs that the job has there. The program itself is not yet in the
/// arguments.
[[nodiscard]] ProgramStart srun_program(const LaunchHost& node);

}  // namespace ferry
