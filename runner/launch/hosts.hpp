// The hosts of a job, as --hosts or a hostfile names them, and which tasks each of them gets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// A host that tasks may be started on.
struct LaunchHost {
  std::string name;       ///< as ssh takes it: NAME, USER@NAME or an address
  int slots = 1;          ///< how many tasks it is for
  int most = kUnlimited;  ///< how many it may ever have
  std::string where;      ///< which named it: "--hosts", "FILE:LINE" or "SLURM_JOB_NODELIST"
  bool by_srun = false;   ///< a node of this allocation of SLURM's, for which srun does what ssh does elsewhere

  static constexpr int kUnlimited = 1 << 20;
};
inline constexpr int kMostSlots = 1 << 16;

/// The hosts in "h1:2,h2", where h2 has one slot. A host that is named again has the slots of both places. Error(usage)
/// for what is malformed.
[[nodiscard]] std::vector<LaunchHost> parse_hosts(std::string_view text);

/// The hosts in the text of a hostfile, one a line. The forms are Open MPI's ("h1 slots=2 max_slots=4"), MPICH's and
/// Intel's ("h1:2"), and the form of PBS and LSF, which name a host once for each of its slots. A # begins a comment.
/// Error(file), with file and line, for malformed lines. `file`: its path, for messages.
[[nodiscard]] std::vector<LaunchHost> parse_hostfile(const std::string& file, std::string_view text);
/// The same for a file, of at most 16 MiB.
[[nodiscard]] std::vector<LaunchHost> read_hostfile(const std::string& file);

/// The tasks of one host: numbers first … first + count - 1.
struct HostTasks {
  LaunchHost host;
  int first = 0;
  int count = 0;
};

/// Gives `tasks` tasks to the hosts, in order, to each as many as it has slots, or `per_host`; by default all hosts get
/// as many as that. Hosts that get none are left out. Error(usage) when there is not enough room.
[[nodiscard]] std::vector<HostTasks> place_tasks(std::span<const LaunchHost> hosts, std::optional<int> tasks,
                                                 std::optional<int> per_host);

}  // namespace ferry
