#include "executor/job/affinity.hpp"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include "base/process/control_group.hpp"
#include "base/ranges.hpp"
#include "base/system/limits.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

struct TopologyDelete {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Machine = std::unique_ptr<hwloc_topology, TopologyDelete>;

/// Discovers only cores and hardware threads, since discovering caches and devices takes longer.
Machine discover() {
  if (access("/sys/devices/system/cpu", R_OK | X_OK) != 0) return nullptr;  // hwloc would complain on stderr
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Machine machine(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return machine;
}

/// The topology of this machine, discovered once, since reading /sys takes longer than a small step. Null if that
/// failed.
hwloc_topology_t machine() {
  static const Machine machine = discover();
  return machine.get();
}

}  // namespace

std::string Cores::str() const {
  std::vector<int> all;
  for (const auto& core : cpus) all.insert(all.end(), core.begin(), core.end());
  std::sort(all.begin(), all.end());
  return ranges(all);
}

Cores allowed_cores() {
  std::vector<int> mask = affinity_mask();
  hwloc_topology_t here = nullptr;
  if (!mask.empty()) {
    here = machine();
  } else {  // hwloc would ask for the mask for ever, so each hardware thread counts as a core
    mask.resize(std::max(1U, std::thread::hardware_concurrency()));
    std::iota(mask.begin(), mask.end(), 0);
  }
  std::map<int, std::vector<int>> by_core;
  for (int cpu : mask) {
    hwloc_obj_t unit = here != nullptr ? hwloc_get_pu_obj_by_os_index(here, static_cast<unsigned>(cpu)) : nullptr;
    hwloc_obj_t core = unit != nullptr ? hwloc_get_ancestor_obj_by_type(here, HWLOC_OBJ_CORE, unit) : nullptr;
    by_core[core != nullptr ? static_cast<int>(core->logical_index) : (1 << 20) + cpu].push_back(cpu);
  }
  Cores cores;
  for (auto& [index, cpus] : by_core) cores.cpus.push_back(std::move(cpus));
  const int units = here != nullptr ? hwloc_get_nbobjs_by_type(here, HWLOC_OBJ_PU) : 0;
  cores.whole_machine = units <= static_cast<int>(mask.size());
  cores.quota = group_limits().cores();
  return cores;
}

ThreadChoice choose_threads(int wanted, const Cores& cores, const Sharers& sharers) {
  if (wanted <= 0) return {std::max(1, std::min(cores.count() / sharers.cores, cores.quota / sharers.quota)), {}};
  if (wanted <= cores.count()) return {wanted, {}};
  const std::string have = plural(cores.count(), "core");
  return {cores.count(), plural(wanted, "thread") + " asked for, but this process may run on " + have +
                             " (hardware threads " + cores.str() + "): using " + std::to_string(cores.count())};
}

bool may_pin(int threads, const Cores& cores, int sharers) {
  return !cores.whole_machine && sharers <= 1 && threads <= cores.count();
}

void pin_to_core(const Cores& cores, int index) {
  const auto& cpus = cores.cpus[static_cast<std::size_t>(index) % cores.cpus.size()];
  const int limit = *std::max_element(cpus.begin(), cpus.end()) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(limit), [](cpu_set_t* p) { CPU_FREE(p); });
  const std::size_t bytes = CPU_ALLOC_SIZE(limit);
  CPU_ZERO_S(bytes, set.get());
  for (int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  pthread_setaffinity_np(pthread_self(), bytes, set.get());
}

}  // namespace ferry
