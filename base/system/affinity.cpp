#include "base/system/affinity.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/process/control_group.hpp"

namespace ferry {
namespace {

/// A cpu_set_t has room for 1,024 hardware threads, and a machine may have more; Linux can be built for 8,192.
struct Mask {
  cpu_set_t sets[16] = {};
};

/// The mask of a thread, 0 for the calling one; empty when the system does not say.
Mask mask_of(pid_t thread) {
  Mask mask;
  return sched_getaffinity(thread, sizeof mask, mask.sets) == 0 ? mask : Mask();
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
  static_cast<void>(sched_setaffinity(0, sizeof mask, mask.sets));  // which refuses an empty mask
}

}  // namespace ferry
