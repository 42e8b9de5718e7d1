#include "plan/requirements.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {

void require_tasks(const Plan& plan, const Topology& topology) {
  if (plan.topology.size() != topology.size())
    throw Error(Code::plan, "the plan is for {}, this job has {}", plural(plan.topology.size(), "task"),
                topology.size())
        .hint("start {}, or make the plan again from its graph", plan.topology.size());
  for (int task = 0; task < topology.size(); ++task) {
    const auto wanted = static_cast<int>(plan.class_for(task).threads);
    const int there = topology.tasks[task].threads;
    if (wanted > there)
      throw Error(Code::plan, "the plan is for {} threads on task {}, which has {}", wanted, task, there)
          .hint("--threads {}, if a task may run on as many cores, or make the plan again from its graph", wanted);
    const int gpus = topology.tasks[task].gpus;
    for (const PlanDevice& device : plan.class_for(task).devices)
      if (device.kind == DeviceKind::gpu && static_cast<std::int64_t>(device.index) >= gpus)
        throw Error(Code::plan, "the plan is for gpu:{} of task {}, which has {}", device.index, task,
                    plural(gpus, "GPU"))
            .hint("--device sim, if it was made with that, or make the plan again from its graph");
    const PlanClass& role = plan.class_for(task);
    const bool has_regions = std::ranges::any_of(
        role.instructions, [&](const Instruction& i) { return i.what == Opcode::tiles && role.on_queue(i); });
    if (has_regions && !topology.gpu_regions())
      throw Error(Code::plan, "the plan has tile regions on GPUs, and not all GPUs of this job can run them")
          .hint("install NVRTC on all hosts (ferry doctor), or make the plan again from its graph");
  }
}

void require_memory(const Plan& plan, const Topology& topology) {
  const auto require = [&](std::span<const std::int32_t> group) {
    for (const std::int32_t other : group.subspan(1))
      if (!topology.share_memory(std::array{group.front(), other}))
        throw Error(Code::plan, "the plan is for tasks {} and {} that share memory, and here they do not",
                    group.front(), other)
            .hint("make the plan again, where it is to run: ferry plan GRAPH --save FILE.plan");
  };
  for (const Channel& channel : plan.channels)
    if (channel.put) require(std::array{channel.from, channel.to});
  for (const Collective& collective : plan.collectives)
    if (const Via via = plan.schedules[collective.schedule].via; via == Via::put || via == Via::get)
      for (const auto& group : plan.groupings[collective.grouping]) require(group);
}

void require_gpu_groups(const Plan& plan, const Topology& topology) {
  for (const Collective& collective : plan.collectives) {
    if (plan.schedules[collective.schedule].via != Via::library) continue;
    for (const auto& group : plan.groupings[collective.grouping]) {
      if (topology.join_gpus(group)) continue;
      const auto alone =
          std::ranges::find_if(group, [&](std::int32_t task) { return topology.tasks[task].gpu_group < 0; });
      const std::int32_t task = alone == group.end() ? group.front() : *alone;
      const std::string& why = topology.tasks[task].no_gpu_group;
      throw Error(Code::plan, "the plan is for GPUs that work together, and that of task " + std::to_string(task) +
                                  " does not here" + (why.empty() ? "" : ": " + why))
          .hint("make the plan again, where it is to run: ferry plan GRAPH --save FILE.plan");
    }
  }
}

std::map<std::string, Type, std::less<>> variables_of(const Plan& plan) {
  std::map<std::string, Type, std::less<>> types;
  for (const PlanClass& c : plan.classes)
    for (const PlanVariable& variable : c.variables) {
      const Buffer& buffer = c.buffers[variable.buffer];
      const auto& whole = buffer.window == kNone ? buffer.sizes.vector() : plan.windows[buffer.window].sizes;
      types[std::string(plan.string(variable.name))] = {buffer.dtype, Shape(std::span<const std::int64_t>(whole))};
    }
  return types;
}

}  // namespace ferry
