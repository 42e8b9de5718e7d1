// Control groups: how much memory, processor time and how many threads a container, a batch system or systemd allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The lowest of a kind of limit, over the control group of this process and all groups that contain it.
struct GroupLimit {
  std::uint64_t most = UINT64_MAX;  ///< UINT64_MAX: no group sets one
  std::string file = {};            ///< which sets it, such as "/sys/fs/cgroup/job/memory.max"; empty: none

  /// A text that is equal in two processes of this machine if the same group limits both; empty: none does.
  [[nodiscard]] std::string group() const;
};

struct GroupLimits {
  GroupLimit memory;     ///< bytes
  GroupLimit threads;    ///< processes count as threads
  GroupLimit processor;  ///< thousandths of a core: a quota of processor time

  /// How many cores' worth of threads the quota keeps busy: rounded up, at least 1. INT32_MAX: there is no quota.
  [[nodiscard]] std::int32_t cores() const;
};

/// Reads the limits of this process from /proc and /sys, on each call: of control groups of version 1, version 2,
/// or both, nested as deep as they are, in containers also. What cannot be read limits nothing. Thread-safe.
[[nodiscard]] GroupLimits group_limits();

/// The same for a system whose files lie below `root`, where /proc/self/cgroup and /proc/self/mountinfo have these
/// texts. Empty texts: the control groups are where they usually are, and this process is in those at the top.
[[nodiscard]] GroupLimits group_limits(const std::string& root, std::string_view groups, std::string_view mounts);

}  // namespace ferry
#pragma GCC visibility pop
