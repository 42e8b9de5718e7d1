#include "base/system/affinity.hpp"

#include <sched.h>

#include <cstddef>

namespace ferry {

std::vector<int> affinity_mask() {
  std::vector<int> found;
  // A cpu_set_t has room for 1,024; where the machine may have more, the call fails with less room.
  for (std::size_t sets = 1; sets <= 1024 && found.empty(); sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;
    for (std::size_t cpu = 0; cpu < 8 * bytes; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, mask.data())) found.push_back(static_cast<int>(cpu));
  }
  return found;
}

}  // namespace ferry
