#include "base/system/limits.hpp"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/process/control_group.hpp"
#include "base/system/system_file.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// The number at the beginning of a system file (/proc, /sys); 0 if there is no such file or number ("max").
std::uint64_t number_in(const char* path) {
  return std::strtoull(system_text(path).c_str(), nullptr, 10);
}

/// A limit of this process; 0: there is none, or it is not known.
std::uint64_t process_limit(decltype(RLIMIT_AS) what) {
  rlimit limit{};
  return ::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? std::uint64_t{limit.rlim_cur} : 0;
}

}  // namespace

std::uint64_t installed_memory_bytes() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : 0;
}

std::uint64_t memory_and_swap_bytes() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return UINT64_MAX;
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

std::string memory_limit_text() {
  const std::uint64_t machine = memory_and_swap_bytes();
  const GroupLimit group = group_limits().memory;
  const std::uint64_t addresses = process_limit(RLIMIT_AS);
  if (addresses != 0 && addresses < std::min(machine, group.most))
    return "this process may have " + human_bytes(addresses) + " of addresses (ulimit -v)";
  if (group.most < machine) return "its control group may have " + human_bytes(group.most) + " (" + group.file + ")";
  return "this machine has " + human_bytes(machine);
}

std::uint64_t most_threads() {
  std::uint64_t most = UINT64_MAX;
  const auto at_most = [&](std::uint64_t limit) {
    if (limit != 0) most = std::min(most, limit);
  };
  for (const char* limit : {"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"}) at_most(number_in(limit));
  at_most(group_limits().threads.most);
  at_most(number_in("/proc/sys/vm/max_map_count") / 2);  // a thread maps its stack and a guard page
  if (::geteuid() != 0) at_most(process_limit(RLIMIT_NPROC));
  if (const std::uint64_t addresses = process_limit(RLIMIT_AS), stack = process_limit(RLIMIT_STACK); stack != 0)
    at_most(addresses / stack);
  return most == UINT64_MAX ? 0 : most;
}

}  // namespace ferry
