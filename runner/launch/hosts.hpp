// The hosts of a job, from --hosts or a hostfile, and the tasks that each host gets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// A host on which tasks can be started.
struct LaunchHost {
  std::string name;                   ///< as ssh accepts it: NAME, USER@NAME or an address
  int slots = 1;                      ///< number of tasks that the host gets by default
  int max_tasks = kUnlimited;         ///< most tasks that the host may ever get
  std::string where;                  ///< source of the host: "--hosts", "FILE:LINE" or "SLURM_JOB_NODELIST"
  bool by_srun = false;               ///< a node of this SLURM allocation: srun starts the agent, not ssh
  std::optional<int> het_group = {};  ///< the component of a heterogeneous SLURM job that has the node

  static constexpr int kUnlimited = 1 << 20;
};
inline constexpr int kMostSlots = 1 << 16;

/// The hosts in "h1:2,h2", where h2 has one slot. A host that is named again gets the slots of both entries.
/// Error(usage) for malformed text.
[[nodiscard]] std::vector<LaunchHost> parse_hosts(std::string_view text);

/// The hosts in the text of a hostfile, one in each line. It accepts the forms of Open MPI ("h1 slots=2 max_slots=4"),
/// of MPICH and Intel MPI ("h1:2"), and of PBS and LSF, which name a host once for each of its slots. A # begins a
/// comment. Error(file), with file and line, for malformed lines. `file`: its path, for messages.
[[nodiscard]] std::vector<LaunchHost> parse_hostfile(const std::string& file, std::string_view text);
/// The same for a file, of at most 16 MiB.
[[nodiscard]] std::vector<LaunchHost> read_hostfile(const std::string& file);

/// The tasks of one host: numbers first … first + count - 1.
struct HostTasks {
  LaunchHost host;
  int first = 0;
  int count = 0;
};

/// Assigns `tasks` tasks to the hosts, in order: to each as many as it has slots, or `per_host`. Without `tasks`, every
/// host gets this many. Hosts without tasks are left out. Error(usage) if the hosts have too few slots.
[[nodiscard]] std::vector<HostTasks> place_tasks(std::span<const LaunchHost> hosts, std::optional<int> tasks,
                                                 std::optional<int> per_host);

}  // namespace ferry
