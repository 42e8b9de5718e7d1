#include "plan/traffic/class_traffic.hpp"

#include <numeric>

namespace ferry {

DeviceWork& DeviceWork::operator+=(const DeviceWork& other) {
  launches += other.launches;
  copies_in += other.copies_in;
  bytes_in += other.bytes_in;
  copies_out += other.copies_out;
  bytes_out += other.bytes_out;
  copies_within += other.copies_within;
  bytes_within += other.bytes_within;
  collectives += other.collectives;
  replays += other.replays;
  return *this;
}

DeviceWork work_of_copy(PlanQueue::Role queue, std::uint64_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  switch (queue) {
    case PlanQueue::Role::in:
      return {.copies_in = 1, .bytes_in = size};
    case PlanQueue::Role::out:
      return {.copies_out = 1, .bytes_out = size};
    default:
      return {.copies_within = 1, .bytes_within = size};
  }
}

namespace {

using StepKind = ScheduleStep::Kind;

/// Counts, for each member, the messages in one direction and their elements.
class MemberCount {
 public:
  MemberCount(const Schedule& schedule, std::span<const std::int64_t> parts)
      : parts_(parts),
        scripts_(schedule.scripts()),
        messages_(static_cast<std::size_t>(schedule.members), 0),
        elements_(messages_.size(), 0),
        shifts_(messages_.size(), 0) {}

  void add(const ScheduleStep& step) {
    if (step.only != ScheduleStep::kAll) {
      if (step.only != step.except) add_each(step, step.only, 1);
      return;
    }
    if (step.except != ScheduleStep::kAll) add_each(step, step.except, -1);
    ++of_all_;
    if (step.part.by == MemberRef::By::shift)
      ++shifts_[step.part.resolve(0, members())];
    else
      for (int m = 0; m < members(); ++m) elements_[m] += size(step, m);
  }

  /// Adds the parts that steps name by a shift. Most shifts occur equally often. So it adds all parts that many times,
  /// and then corrects the few shifts that occur more or less often.
  void finish() {
    const std::int64_t usual = most_frequent(shifts_);
    const std::int64_t all = std::accumulate(parts_.begin(), parts_.end(), std::int64_t{0});
    for (int m = 0; m < members(); ++m) {
      messages_[m] += of_all_;
      if (usual != 0) elements_[m] += usual * all;
    }
    for (std::size_t shift = 0; shift < shifts_.size(); ++shift) {
      const std::int64_t more = shifts_[shift] - usual;
      for (std::size_t m = 0; more != 0 && m < elements_.size(); ++m)
        elements_[m] += more * parts_[(m + shift) % elements_.size()];
    }
  }

  [[nodiscard]] std::int64_t messages(std::size_t member) const { return messages_[member]; }
  [[nodiscard]] std::int64_t elements(std::size_t member) const { return elements_[member]; }

 private:
  [[nodiscard]] int members() const { return static_cast<int>(messages_.size()); }
  [[nodiscard]] std::int64_t size(const ScheduleStep& step, int member) const {
    return parts_[step.part.resolve(member, members())];
  }

  void add_each(const ScheduleStep& step, int script, std::int64_t times) {
    for (int member = script; member < members(); member += scripts_) {
      messages_[member] += times;
      elements_[member] += times * size(step, member);
    }
  }

  /// The value of more than half of the entries, if there is one (Boyer, Moore 1981).
  static std::int64_t most_frequent(const std::vector<std::int64_t>& numbers) {
    std::int64_t found = 0, lead = 0;
    for (const std::int64_t number : numbers) {
      if (lead == 0) found = number;
      lead += number == found ? 1 : -1;
    }
    return found;
  }

  std::span<const std::int64_t> parts_;
  int scripts_;
  std::vector<std::int64_t> messages_, elements_;
  std::vector<std::int64_t> shifts_;  // by shift: number of steps with it
  std::int64_t of_all_ = 0;           // messages that every member has
};

bool sends(const ScheduleStep& step) {
  return step.kind == StepKind::send_input || step.kind == StepKind::send_output || step.kind == StepKind::send_slot;
}
bool receives(const ScheduleStep& step) {
  return step.kind == StepKind::receive_slot || step.kind == StepKind::receive_output;
}

/// The elements that a member gives to its GPUs' library: its input, or the elements that it sends if the library only
/// moves data.
std::int64_t given_to_library(const Schedule& schedule, std::span<const std::int64_t> parts, int member) {
  return schedule.library_does_all() ? schedule.input_elements(parts, member) : schedule.sent_elements(parts, member);
}

Traffic traffic_of_collective(const Plan& plan, const Collective& collective, int task) {
  const Schedule& schedule = plan.schedules[collective.schedule];
  const int member = membership(plan.groupings[collective.grouping], task).member;
  if (member < 0) return {};
  const auto size = static_cast<std::int64_t>(size_of(collective.dtype));
  if (schedule.via == Via::library)
    return {.collective_bytes = given_to_library(schedule, collective.parts, member) * size};
  return {.sent_messages = schedule.sends_of(member),
          .sent_bytes = schedule.sent_elements(collective.parts, member) * size,
          .received_messages = schedule.receives_of(member),
          .received_bytes = schedule.received_elements(collective.parts, member) * size};
}

class SendsByLink {
 public:
  void add(std::int32_t to, std::int64_t bytes, std::int64_t messages = 1) {
    LinkTraffic& link = links_[to];
    link = {to, link.messages + messages, link.bytes + bytes};
  }
  [[nodiscard]] std::vector<LinkTraffic> list() const {
    std::vector<LinkTraffic> links;
    for (const auto& [to, link] : links_) links.push_back(link);
    return links;
  }

 private:
  std::map<std::int32_t, LinkTraffic> links_;
};

/// The traffic of one task in a region, without its collectives; calls of_collective(number) for each collective.
template <class F>
Traffic traffic_of_region(const Plan& plan, const PlanClass& role, RegionId region, F of_collective) {
  const Range range = role.regions[region].instructions;
  Traffic total;
  for (const std::uint32_t i : range) {
    const Instruction& instruction = role.instructions[i];
    const auto bytes = [&] { return static_cast<std::int64_t>(plan.channels[instruction.channel()].bytes); };
    switch (instruction.what) {
      case Opcode::send:
        total += {.sent_messages = 1, .sent_bytes = bytes()};
        break;
      case Opcode::receive:
        total += {.received_messages = 1, .received_bytes = bytes()};
        break;
      case Opcode::collective:
        of_collective(instruction.collective());
        break;
      case Opcode::copy:
        total += {.copies = instruction.swaps() ? 0 : 1};
        break;
      default:
        break;
    }
  }
  return total;
}

}  // namespace

Traffic traffic_of(const Plan& plan, int task, RegionId region) {
  Traffic collectives;
  Traffic total = traffic_of_region(plan, plan.class_for(task), region, [&](std::uint32_t number) {
    collectives += traffic_of_collective(plan, plan.collectives[number], task);
  });
  return total += collectives;
}

std::vector<DeviceWork> work_of(const Plan& plan, int task, RegionId region) {
  const PlanClass& role = plan.class_for(task);
  std::vector<DeviceWork> work(role.devices.size());
  const Range range = role.regions[region].instructions;
  for (const std::uint32_t i : range) {
    const Instruction& instruction = role.instructions[i];
    if (!role.on_queue(instruction)) continue;
    const PlanQueue& queue = role.queues[instruction.strand - role.threads];
    if (instruction.what == Opcode::kernel || instruction.what == Opcode::tiles)
      ++work[queue.device].launches;
    else if (instruction.what == Opcode::collective)
      ++work[queue.device].collectives;
    else if (instruction.what == Opcode::copy)
      work[queue.device] += work_of_copy(queue.role, role.buffers[role.outputs(instruction)[0]].bytes);
  }
  for (const Range& stretch : role.stretches)
    if (stretch.first >= range.first && stretch.first < range.first + range.count)
      ++work[role.queues[role.instructions[stretch.first].strand - role.threads].device].replays;
  return work;
}

std::vector<LinkTraffic> sends_of_collective(const Plan& plan, const Collective& collective, int task) {
  const Membership mine = membership(plan.groupings[collective.grouping], task);
  const Schedule& schedule = plan.schedules[collective.schedule];
  if (mine.group == nullptr || schedule.via == Via::library) return {};
  const auto size = static_cast<std::int64_t>(size_of(collective.dtype));
  Schedule one = schedule;
  SendsByLink sum;
  for (const ScheduleStep& step : schedule.steps) {
    if (!sends(step) || !schedule.concerns(step, mine.member)) continue;
    one.steps.assign(1, step);
    sum.add((*mine.group)[step.peer.resolve(mine.member, schedule.members)],
            one.sent_elements(collective.parts, mine.member) * size);
  }
  return sum.list();
}

std::vector<LinkTraffic> sends_of(const Plan& plan, int task, RegionId region) {
  const PlanClass& role = plan.class_for(task);
  const Range range = role.regions[region].instructions;
  SendsByLink sum;
  for (const std::uint32_t i : range) {
    const Instruction& instruction = role.instructions[i];
    if (instruction.what == Opcode::send) {
      const Channel& channel = plan.channels[instruction.channel()];
      sum.add(channel.to, static_cast<std::int64_t>(channel.bytes));
    } else if (instruction.what == Opcode::collective) {
      for (const LinkTraffic& link : sends_of_collective(plan, plan.collectives[instruction.collective()], task))
        sum.add(link.to, link.bytes, link.messages);
    }
  }
  return sum.list();
}

std::vector<Traffic> traffic_of_members(const Schedule& schedule, std::span<const std::int64_t> parts) {
  const auto members = static_cast<std::size_t>(schedule.members);
  std::vector<Traffic> all(members);
  if (schedule.via == Via::library) {
    for (int m = 0; m < schedule.members; ++m) all[m].collective_bytes = given_to_library(schedule, parts, m);
    return all;
  }
  if (schedule.kind == CollectiveKind::all_to_all) {  // MemberCount does not handle a part for each pair
    for (int m = 0; m < schedule.members; ++m)
      all[m] = {.sent_messages = schedule.sends_of(m),
                .sent_bytes = schedule.sent_elements(parts, m),
                .received_messages = schedule.receives_of(m),
                .received_bytes = schedule.received_elements(parts, m)};
    return all;
  }
  MemberCount sent(schedule, parts), received(schedule, parts);
  for (const ScheduleStep& step : schedule.steps) {
    if (sends(step)) sent.add(step);
    if (receives(step)) received.add(step);
  }
  sent.finish();
  received.finish();
  for (std::size_t m = 0; m < members; ++m)
    all[m] = {.sent_messages = sent.messages(m),
              .sent_bytes = sent.elements(m),
              .received_messages = received.messages(m),
              .received_bytes = received.elements(m)};
  return all;
}

ClassTraffic::ClassTraffic(const Plan& plan) : plan_(plan), tasks_(plan.classes.size(), 0) {
  for (const std::uint32_t plan_class : plan.class_of) ++tasks_[plan_class];
}

Traffic ClassTraffic::of(std::uint32_t plan_class, RegionId region) {
  Traffic total;
  const Traffic of_each = traffic_of_region(plan_, plan_.classes[plan_class], region,
                                            [&](std::uint32_t number) { total += of_collective(number)[plan_class]; });
  const std::int64_t tasks = tasks_[plan_class];
  return total += {.sent_messages = tasks * of_each.sent_messages,
                   .sent_bytes = tasks * of_each.sent_bytes,
                   .received_messages = tasks * of_each.received_messages,
                   .received_bytes = tasks * of_each.received_bytes,
                   .copies = tasks * of_each.copies};
}

const std::vector<Traffic>& ClassTraffic::of_collective(std::uint32_t number) {
  const auto [at, fresh] = known_.try_emplace(number);
  if (!fresh) return at->second;
  const Collective& collective = plan_.collectives[number];
  const auto size = static_cast<std::int64_t>(size_of(collective.dtype));
  std::vector<Traffic> members = traffic_of_members(plan_.schedules[collective.schedule], collective.parts);
  for (Traffic& member : members) {
    member.sent_bytes *= size;
    member.received_bytes *= size;
    member.collective_bytes *= size;
  }
  at->second.resize(plan_.classes.size());
  for (const std::vector<std::int32_t>& group : plan_.groupings[collective.grouping])
    for (std::size_t m = 0; m < group.size(); ++m) at->second[plan_.class_of[group[m]]] += members[m];
  return at->second;
}

}  // namespace ferry
