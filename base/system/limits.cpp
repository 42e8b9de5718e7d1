#include "base/system/limits.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "base/process/control_group.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// A set of hardware threads. A cpu_set_t has room for 1,024, but Linux can be built for 8,192.
struct Mask {
  cpu_set_t sets[16] = {};
};

/// The affinity mask of a thread (0: the calling thread); empty if the system does not report it.
Mask mask_of(pid_t thread) {
  Mask mask;
  return sched_getaffinity(thread, sizeof mask, mask.sets) == 0 ? mask : Mask();
}

/// The number at the beginning of a system file (/proc, /sys); 0 if there is no such file or number ("max").
std::uint64_t number_in(const char* path) {
  return std::strtoull(system_text(path).c_str(), nullptr, 10);
}

/// A limit of this process; 0 if it is unlimited or not known.
std::uint64_t process_limit(decltype(RLIMIT_AS) what) {
  rlimit limit{};
  return ::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? std::uint64_t{limit.rlim_cur} : 0;
}

}  // namespace

std::vector<int> affinity_mask() {
  const Mask mask = mask_of(0);
  std::vector<int> found;
  for (std::size_t cpu = 0; cpu < 8 * sizeof mask; ++cpu)
    if (CPU_ISSET_S(cpu, sizeof mask, mask.sets)) found.push_back(static_cast<int>(cpu));
  return found;
}

int usable_cores() {
  const std::size_t mask = affinity_mask().size();
  const std::size_t allowed = mask != 0 ? mask : std::max(1U, std::thread::hardware_concurrency());
  return std::min(static_cast<int>(allowed), group_limits().cores());
}

bool is_crowded(int mine, int all) {
  const int machine = static_cast<int>(std::thread::hardware_concurrency()), quota = group_limits().cores();
  return mine > usable_cores() || (machine > 0 && all > machine) || all > quota;
}

void unpin_thread() {
  const Mask mask = mask_of(getpid());
  static_cast<void>(sched_setaffinity(0, sizeof mask, mask.sets));  // the system rejects an empty mask
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
