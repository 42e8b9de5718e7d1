#include "executor/run/gpu_groups.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// By collective, the number of the GPU that its members give it to; nothing if their hosts carry it out.
std::vector<std::optional<std::uint32_t>> gpus_of(const Plan& plan) {
  std::vector<std::optional<std::uint32_t>> gpus(plan.collectives.size());
  for (const PlanClass& role : plan.classes)
    for (const Instruction& i : role.instructions)
      if (i.what == Opcode::collective && role.on_queue(i))
        gpus[i.target] = role.devices[role.queues[i.strand - role.threads].device].index;
  return gpus;
}

}  // namespace

/// The plan's groups that no plan had before, in the order in which its collectives name them.
std::vector<GpuGroups::Group> GpuGroups::unknown(const Plan& plan) {
  std::vector<Group> found;
  const auto gpus = gpus_of(plan);
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c) {
    if (!gpus[c]) continue;
    for (const std::vector<std::int32_t>& tasks : plan.groupings[plan.collectives[c].grouping])
      if (Group group{tasks, *gpus[c]}; known_.insert(group).second) found.push_back(std::move(group));
  }
  return found;
}

void GpuGroups::join(const Plan& plan, int task, const Devices* devices, Transport& transport,
                     const Deadline& deadline) {
  const std::vector<Group> fresh = unknown(plan);
  if (fresh.empty()) return;
  devices_ = devices;
  // The first task of each group names it.
  std::string names;
  for (const Group& group : fresh)
    if (group.tasks.front() == task) {
      const DeviceGroupName name = devices->name_group();
      names.append(name.bytes, sizeof name.bytes);
    }
  const std::vector<std::string> of_tasks = transport.exchange(names, deadline);
  std::vector<std::size_t> read(of_tasks.size(), 0);
  for (const Group& group : fresh) {
    const auto first = static_cast<std::size_t>(group.tasks.front());
    DeviceGroupName name{};
    const std::size_t at = read[first]++ * sizeof name.bytes;
    const auto me = std::ranges::find(group.tasks, task);
    if (me == group.tasks.end()) continue;
    if (of_tasks[first].size() < at + sizeof name.bytes)
      throw Error(Code::peer_lost, "task " + std::to_string(first) + " does not name the group of its GPUs");
    std::memcpy(name.bytes, of_tasks[first].data() + at, sizeof name.bytes);
    Devices::Owned member = devices->join_group(static_cast<int>(group.gpu), name, static_cast<int>(group.tasks.size()),
                                                static_cast<int>(me - group.tasks.begin()));
    while (!devices->joined(member.get())) {
      if (deadline.expired())
        throw Error(Code::stalled, "task " + std::to_string(task) + " waits for the GPUs of " +
                                       plural(group.tasks.size() - 1, "other task") + " to form a group with its own")
            .hint("see what these tasks and the network between them do; --device cpu computes without GPUs");
      transport.idle(std::chrono::microseconds(50));
    }
    joined_.emplace(group, std::move(member));
  }
}

void GpuGroups::abandon() {
  for (const auto& [_, member] : joined_) devices_->abandon(member.get());
}

}  // namespace ferry
