#include "placement/choose/memory_limits.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/largest_values.hpp"
#include "plan/traffic/costs.hpp"

namespace ferry {
namespace {

constexpr std::size_t kNamed = 5;
constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;

std::int64_t signed_bytes(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

std::string bytes_text(std::int64_t bytes) {
  return human_bytes(static_cast<std::uint64_t>(bytes)) + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

bool MemoryLimits::any() const {
  return budget_.memory || std::ranges::any_of(topology_.tasks, [](const TaskInfo& task) {
           return task.memory_bytes != 0 || task.host_memory_bytes != 0 ||
                  (task.gpus > 0 && task.gpu_memory_bytes != 0);
         });
}

std::optional<MemoryLimits::Need> MemoryLimits::tightest(const Plan& plan) const {
  std::optional<Need> tightest;
  const auto consider = [&](const Need& need) {
    if (!tightest || need.left() < tightest->left()) tightest = need;
  };
  struct Host {
    std::uint64_t needed = 0, allowed = kMost, most = 0;  // most: of a task
    std::size_t task = 0;                                 // the task that needs the most
    std::int64_t tasks = 0;
  };
  std::map<std::int32_t, Host> hosts;
  for (std::size_t t = 0; t < topology_.tasks.size(); ++t) {
    const TaskInfo& task = topology_.tasks[t];
    const PlanClass& role = plan.classes[plan.class_of[t]];
    std::uint64_t on_host = 0;
    for (std::uint32_t d = 0; d < role.devices.size(); ++d) {
      const std::uint64_t bytes = role.devices[d].step_bytes + role.devices[d].state_bytes;
      if (role.devices[d].kind == DeviceKind::cpu)
        on_host += bytes;
      else if (task.gpu_memory_bytes != 0)
        consider({t, signed_bytes(bytes), signed_bytes(task.gpu_memory_bytes), d, "--gpu-memory "});
    }
    if (task.memory_bytes != 0) consider({t, signed_bytes(on_host), signed_bytes(task.memory_bytes), {}, "--memory "});
    if (budget_.memory) consider({t, signed_bytes(memory_of(role)), *budget_.memory, {}, "--budget memory="});
    Host& host = hosts[task.host];
    if (host.tasks == 0 || on_host > host.most) {
      host.most = on_host;
      host.task = t;
    }
    host.needed = std::min(kMost, host.needed + std::min(kMost, on_host));
    if (task.host_memory_bytes != 0) host.allowed = std::min(host.allowed, task.host_memory_bytes);
    ++host.tasks;
  }
  for (const auto& [_, host] : hosts)
    if (host.allowed < kMost)
      consider({host.task, signed_bytes(host.needed), signed_bytes(host.allowed), {}, nullptr, host.tasks});
  return tightest;
}

bool MemoryLimits::allow(const Plan& plan) const {
  const std::optional<Need> need = tightest(plan);
  return !need || need->left() >= 0;
}

Error MemoryLimits::refusal(const Plan& plan, const Need& need, const std::string& name) const {
  const PlanClass& role = plan.classes[plan.class_of[need.task]];
  const auto alike = std::ranges::count(plan.class_of, plan.class_of[need.task]);
  const bool of_host = need.option == nullptr;
  Error error(Code::plan, "no placement was found that fits into " + bytes_text(need.allowed) + " of memory");
  error.note("the least is " + bytes_text(need.needed) + ": " + name +
             (of_host ? ", on the tasks of host " + topology_.tasks[need.task].host_name + ", the most on task "
                      : ", on task ") +
             std::to_string(need.task) +
             (alike > 1 && !of_host ? " and " + std::to_string(alike - 1) + " like it" : ""));
  const bool on_host = of_host || need.option == std::string_view("--memory ");
  const std::vector<LargeValue> values = largest_values(plan, role, kNamed, [&](std::uint32_t device) {
    return need.device ? device == *need.device : !on_host || role.devices[device].kind == DeviceKind::cpu;
  });
  if (!values.empty()) error.at(values[0].line);
  for (const LargeValue& value : values)
    error.note(value.text + (value.line.known() ? formatted(" at {}", value.line.str()) : ""));
  const std::string least = std::to_string(need.needed);
  return error.hint(of_host ? "fewer tasks on a host, a smaller batch, or hosts with " + least + " bytes of memory"
                            : "more tasks to split over, a smaller batch, or " + (need.option + least));
}

}  // namespace ferry
