#include "executor/run/gpu_groups.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Kind = DeviceCollective::Kind;

/// The messages of a member of a collective that the library has no function of its own for.
class Exchange {
 public:
  Exchange(const Schedule& schedule, const Collective& collective, int member, std::byte* input, std::byte* output)
      : schedule_(schedule), collective_(collective), member_(member), input_(input), output_(output) {}

  [[nodiscard]] std::vector<DeviceMessage> messages() {
    for (int peer = 0; peer < schedule_.members; ++peer) {
      switch (schedule_.kind) {
        case CollectiveKind::all_to_all:
          send(peer, peer);
          receive(peer, peer);
          break;
        case CollectiveKind::all_gather:
          send(peer, member_);
          receive(peer, peer);
          break;
        case CollectiveKind::scatter:
          if (member_ == schedule_.root) send(peer, peer);
          if (peer == schedule_.root) receive(peer, member_);
          break;
        default:  // gather
          if (peer == schedule_.root) send(peer, member_);
          if (member_ == schedule_.root) receive(peer, peer);
          break;
      }
    }
    return std::move(messages_);
  }

 private:
  void send(int peer, int part) { add(peer, 1, input_, schedule_.input_part(collective_.parts, member_, part)); }
  void receive(int peer, int part) { add(peer, 0, output_, schedule_.output_part(collective_.parts, member_, part)); }
  void add(int peer, int sends, std::byte* base, const PartRange& part) {
    const auto size = static_cast<std::int64_t>(size_of(collective_.dtype));
    if (part.count > 0)
      messages_.push_back({peer, sends, base + part.begin * size, static_cast<std::uint64_t>(part.count * size)});
  }

  const Schedule& schedule_;
  const Collective& collective_;
  const int member_;
  std::byte *const input_, *const output_;
  std::vector<DeviceMessage> messages_;
};

/// What the library is asked for; exchange where it has no function for the kind, or for parts of different sizes.
Kind kind_of(const Schedule& schedule, const Collective& collective) {
  const auto& parts = collective.parts;
  switch (schedule.kind) {
    case CollectiveKind::all_reduce:
      return Kind::all_reduce;
    case CollectiveKind::reduce:
      return Kind::reduce;
    case CollectiveKind::reduce_scatter:
      return Kind::reduce_scatter;
    case CollectiveKind::broadcast:
      return Kind::broadcast;
    case CollectiveKind::all_gather:
      return std::ranges::all_of(parts, [&](std::int64_t part) { return part == parts[0]; }) ? Kind::all_gather
                                                                                             : Kind::exchange;
    default:
      return Kind::exchange;
  }
}

}  // namespace

/// The plan's groups that no plan had before, in the order in which its collectives name them.
std::vector<GpuGroups::Group> GpuGroups::unknown(const Plan& plan) {
  std::vector<Group> found;
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c) {
    if (plan.collectives[c].gpu == kNone) continue;
    for (const std::vector<std::int32_t>& tasks : plan.groupings[plan.collectives[c].grouping])
      if (Group group{tasks, plan.collectives[c].gpu}; known_.insert(group).second) found.push_back(std::move(group));
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

std::unique_ptr<GpuCollective> GpuGroups::collective(const Plan& plan, int task, const Instruction& instruction,
                                                     std::byte* input, std::byte* output) const {
  const Collective& collective = plan.collectives[instruction.target];
  const Schedule& schedule = plan.schedules[collective.schedule];
  const Membership place = membership(plan.groupings[collective.grouping], task);
  auto made = std::make_unique<GpuCollective>();
  made->bytes =
      schedule.input_elements(collective.parts, place.member) * static_cast<std::int64_t>(size_of(collective.dtype));
  made->group = joined_.at({*place.group, collective.gpu}).get();
  made->what = {.kind = kind_of(schedule, collective),
                .reduce = collective.reduce,
                .dtype = collective.dtype,
                .root = schedule.root,
                .count = static_cast<std::uint64_t>(collective.parts[0]),
                .input = input,
                .output = output,
                .tag = &instruction};
  if (made->what.kind == Kind::exchange) {
    made->messages = Exchange(schedule, collective, place.member, input, output).messages();
    made->what.count = 0;
    made->what.messages = made->messages.data();
    made->what.message_count = made->messages.size();
  }
  return made;
}

void GpuGroups::abandon() {
  for (const auto& [_, member] : joined_) devices_->abandon(member.get());
}

}  // namespace ferry
