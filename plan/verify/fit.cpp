#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/largest_values.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

constexpr std::size_t kShown = 5;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/// Bytes of the host's memory that the class needs; the memory of GPUs does not count.
std::uint64_t needed_by(const PlanClass& c) {
  std::uint64_t bytes = 0;
  for (const PlanDevice& device : c.devices)
    if (device.kind == DeviceKind::cpu) bytes = sum(bytes, sum(device.step_bytes, device.state_bytes));
  return bytes;
}

std::string bytes_text(std::uint64_t bytes) {
  return human_bytes(bytes) + (bytes < 1024 ? "" : " (" + std::to_string(bytes) + " bytes)");
}

/// A line for each of the largest values on a device: name, type, bytes, and the user's line that makes it. nullopt: on
/// the host.
std::string largest_buffers(const Plan& plan, const PlanClass& c, std::optional<std::uint32_t> device) {
  std::string text;
  for (const LargeValue& value : largest_values(plan, c, kShown, [&](std::uint32_t d) {
         return device ? d == *device : c.devices[d].kind == DeviceKind::cpu;
       }))
    text += "\n  " + value.text + (value.line.known() ? " at " + value.line.str() : "");
  return text;
}

[[noreturn]] void refuse_memory(const Plan& plan, const std::string& who, std::uint64_t needed, std::uint64_t there,
                                std::size_t task, const char* hint, std::optional<std::uint32_t> device = {}) {
  throw PlanRejected{who + " would need " + bytes_text(needed) + " of memory and may have " + bytes_text(there) +
                         "\n  the largest values on task " + std::to_string(task) + ":" +
                         largest_buffers(plan, plan.class_for(static_cast<int>(task)), device),
                     hint};
}

/// Throws PlanRejected if the plan of the task needs more memory on a GPU than the task may use. Returns the maximum
/// over its GPUs of the memory that is needed.
std::uint64_t check_gpus(const Plan& plan, std::size_t task) {
  const std::uint64_t there = plan.topology.tasks[task].gpu_memory_bytes;
  const PlanClass& c = plan.classes[plan.class_of[task]];
  std::uint64_t most = 0;
  for (std::uint32_t d = 0; d < c.devices.size(); ++d) {
    const PlanDevice& device = c.devices[d];
    if (device.kind == DeviceKind::cpu) continue;
    const std::uint64_t needed = sum(device.step_bytes, device.state_bytes);
    most = std::max(most, needed);
    if (there != 0 && needed > there)
      refuse_memory(
          plan,
          std::string(name_of(device.kind)) + ":" + std::to_string(device.index) + " of task " + std::to_string(task),
          needed, there, task, "more tasks to split over, a smaller batch, or more memory (--gpu-memory)", d);
  }
  return most;
}

}  // namespace

Footprint check_fit(const Plan& plan) {
  struct Host {
    std::uint64_t needed = 0, there = 0, most = 0;
    std::size_t task = 0;  ///< the task that needs the most
  };
  std::unordered_map<std::int32_t, std::size_t> numbers;
  std::vector<Host> hosts;  // in the order of their first tasks
  std::vector<std::uint64_t> needed_of;
  for (const PlanClass& c : plan.classes) needed_of.push_back(needed_by(c));
  Footprint most;
  std::size_t number = 0;
  for (std::size_t t = 0; t < plan.topology.tasks.size(); ++t) {
    const TaskInfo& task = plan.topology.tasks[t];
    const std::uint64_t needed = needed_of[plan.class_of[t]];
    most.task = std::max(most.task, needed);
    most.gpu = std::max(most.gpu, check_gpus(plan, t));
    if (task.memory_bytes != 0 && needed > task.memory_bytes)
      refuse_memory(plan, "task " + std::to_string(t), needed, task.memory_bytes, t,
                    "more tasks to split over, a smaller batch, or more memory (--memory)");
    if (t == 0 || task.host != plan.topology.tasks[t - 1].host)
      number = numbers.try_emplace(task.host, hosts.size()).first->second;
    if (number == hosts.size()) hosts.emplace_back();
    Host& host = hosts[number];
    host.needed = sum(host.needed, needed);
    if (task.host_memory_bytes != 0)
      host.there = host.there == 0 ? task.host_memory_bytes : std::min(host.there, task.host_memory_bytes);
    if (needed <= host.most) continue;
    host.most = needed;
    host.task = t;
  }
  for (const Host& host : hosts)
    if (host.there != 0 && host.needed > host.there)
      refuse_memory(plan, formatted("the tasks on host {}", plan.topology.tasks[host.task].host_name), host.needed,
                    host.there, host.task, "fewer tasks on a host, a smaller batch, or hosts with more memory");
  return most;
}

}  // namespace ferry::verifier
