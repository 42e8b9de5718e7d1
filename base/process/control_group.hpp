// Control groups: the limits of memory, processor time and threads that a container, a batch system or systemd sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The lowest limit of one kind in the control group of this process and all groups that contain it.
struct GroupLimit {
  std::uint64_t most = UINT64_MAX;  ///< UINT64_MAX: no group sets one
  std::string file = {};            ///< the file with the limit: "/sys/fs/cgroup/job/memory.max"; empty: none

  /// A text that is equal in two processes of this machine if the same group limits both; empty: none does.
  [[nodiscard]] std::string group() const;
};

struct GroupLimits {
  GroupLimit memory;     ///< bytes
  GroupLimit threads;    ///< processes count as threads
  GroupLimit processor;  ///< thousandths of a core: a quota of processor time

  /// The number of threads that the quota keeps busy: rounded up, at least 1. INT32_MAX: there is no quota.
  [[nodiscard]] std::int32_t cores() const;
};

/// Reads the limits of this process from /proc and /sys, on each call. Supports control groups of version 1, version 2,
/// or both, nested to any depth, also in containers. A file that cannot be read sets no limit. Thread-safe.
[[nodiscard]] GroupLimits group_limits();

/// The same for a system with its files below `root`, where /proc/self/cgroup and /proc/self/mountinfo have these
/// texts. Empty texts: the control groups are mounted in the usual folders, and this process is in the topmost groups.
[[nodiscard]] GroupLimits group_limits(const std::string& root, std::string_view groups, std::string_view mounts);

}  // namespace ferry
#pragma GCC visibility pop
