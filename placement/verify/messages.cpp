#include <map>

#include "placement/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

[[noreturn]] void reject(std::string reason) {
  throw Rejected{std::move(reason)};
}

constexpr std::uint64_t kExtentBytes = 8;

std::uint64_t message_bytes(const Buffer& buffer) {
  return buffer.bytes + (buffer.bounded ? kExtentBytes : 0);
}

/// Where an instruction stands in the program: "step/while_1:body". Equal on all tasks that meet there.
struct Site {
  std::string path;
  std::uint32_t index = 0;  ///< in the class's list
  std::uint32_t buffer = kNone;
};

/// The ends of one channel.
struct Ends {
  std::vector<Site> sends, send_waits, receives, receive_waits;
};

class Messages {
 public:
  explicit Messages(const Plan& plan) : plan_(plan), ends_(plan.channels.size()) {
    for (std::size_t task = 0; task < plan.class_of.size(); ++task)
      tasks_of_[plan.class_of[task]].push_back(static_cast<std::int32_t>(task));
  }

  void check() {
    for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) {
      class_ = c;
      walk(0, "setup");
      walk(1, "step");
    }
    for (std::uint32_t channel = 0; channel < plan_.channels.size(); ++channel) check_channel(channel);
    for (std::uint32_t collective = 0; collective < plan_.collectives.size(); ++collective) check_meeting(collective);
  }

 private:
  const PlanClass& plan_class() const { return plan_.classes[class_]; }

  void walk(std::uint32_t region, const std::string& path) {
    const Range range = plan_class().regions[region].instructions;
    for (std::uint32_t k = range.begin; k < range.begin + range.count; ++k) {
      const Instruction& i = plan_class().instructions[k];
      switch (i.what) {
        case Do::send:
          ends(i, true).sends.push_back(site(i, k, path));
          break;
        case Do::send_wait:
          ends(i, true).send_waits.push_back(site(i, k, path));
          break;
        case Do::receive:
          ends(i, false).receives.push_back(site(i, k, path));
          break;
        case Do::receive_wait:
          ends(i, false).receive_waits.push_back(site(i, k, path));
          break;
        case Do::collective:
          meet(i, k, path);
          break;
        case Do::loop:
        case Do::branch: {
          const std::string owner = path + "/" + std::string(plan_.string(i.name));
          walk(i.target, owner + ":0");
          walk(i.other, owner + ":1");
          break;
        }
        default:
          break;
      }
    }
  }

  Site site(const Instruction& i, std::uint32_t index, const std::string& path) const {
    const Range range = i.inputs.count > 0 ? i.inputs : i.outputs;
    return {path, index, range.count > 0 ? plan_class().operands[range.begin] : kNone};
  }

  /// The channel's ends; the class must be that of the channel's task alone.
  Ends& ends(const Instruction& i, bool sender) {
    const Channel& channel = plan_.channels[i.target];
    const std::int32_t task = sender ? channel.from : channel.to;
    if (tasks_of_[class_] != std::vector<std::int32_t>{task})
      reject(describe(plan_, i) + " is on a task that is not the channel's " +
             std::string(sender ? "sender" : "receiver") + " " + std::to_string(task));
    return ends_[i.target];
  }

  void check_channel(std::uint32_t number) const {
    const Channel& channel = plan_.channels[number];
    const Ends& e = ends_[number];
    const std::string what = described(plan_, "channel", number, channel.name, channel.line) + ", task " +
                             std::to_string(channel.from) + " -> " + std::to_string(channel.to);
    if (e.sends.empty() && e.receives.empty()) reject(what + ": neither sent nor received");
    if (e.sends.empty()) reject(what + ": a receive without a send");
    if (e.receives.empty()) reject(what + ": a send without a receive");
    if (e.sends.size() > 1 || e.receives.size() > 1) reject(what + ": two messages with one tag");
    check_pair(what + ", sending", e.sends, e.send_waits);
    check_pair(what + ", receiving", e.receives, e.receive_waits);
    if (e.sends[0].path != e.receives[0].path)
      reject(what + ": sent in " + e.sends[0].path + ", received in " + e.receives[0].path);
    const Buffer& from = buffer_of(channel.from, e.sends[0]);
    const Buffer& to = buffer_of(channel.to, e.receives[0]);
    if (from.dtype != to.dtype || channel.dtype != from.dtype)
      reject(what + ": sent as " + std::string(name_of(from.dtype)) + ", received as " +
             std::string(name_of(to.dtype)));
    if (message_bytes(from) != message_bytes(to) || message_bytes(from) != channel.bytes || from.bounded != to.bounded)
      reject(what + ": " + std::to_string(message_bytes(from)) + " bytes are sent, " +
             std::to_string(message_bytes(to)) + " received, the channel has " + std::to_string(channel.bytes));
    if (from.sizes != to.sizes) reject(what + ": sent and received with different dims");
  }

  static void check_pair(const std::string& what, const std::vector<Site>& starts, const std::vector<Site>& waits) {
    if (waits.size() != 1) reject(what + ": started once, waited for " + std::to_string(waits.size()) + " times");
    if (starts[0].path != waits[0].path || starts[0].index > waits[0].index || starts[0].buffer != waits[0].buffer)
      reject(what + ": the wait does not follow its start, or is for another buffer");
  }

  const Buffer& buffer_of(std::int32_t task, const Site& site) const {
    return plan_.class_for(task).buffers[site.buffer];
  }

  void meet(const Instruction& i, std::uint32_t index, const std::string& path) {
    const Collective& collective = plan_.collectives[i.target];
    const Schedule& schedule = plan_.schedules[collective.schedule];
    for (std::int32_t task : tasks_of_[class_]) {
      const Membership place = membership(plan_.groupings[collective.grouping], task);
      if (place.group == nullptr)
        reject(describe(plan_, i) + ": task " + std::to_string(task) + " is in none of its groups");
      const auto [at, fresh] = met_.try_emplace({i.target, task}, Site{path, index, kNone});
      if (!fresh) reject(describe(plan_, i) + ": task " + std::to_string(task) + " takes part twice");
      check_size(i, i.inputs, schedule.input_elements(collective.parts, place.member), collective, "gives");
      check_size(i, i.outputs, schedule.output_elements(collective.parts, place.member), collective, "gets");
      const std::int64_t staging = staging_bytes(schedule, collective.parts, collective.dtype, place.member);
      const std::uint64_t there = i.scratch == kNone ? 0 : plan_class().buffers[i.scratch].bytes;
      if (there < static_cast<std::uint64_t>(staging))
        reject(describe(plan_, i) + ": its staging slots need " + std::to_string(staging) + " bytes");
    }
  }

  void check_size(const Instruction& i, Range operands, std::int64_t elements, const Collective& collective,
                  const char* verb) const {
    const std::uint64_t wanted = static_cast<std::uint64_t>(elements) * size_of(collective.dtype);
    if (operands.count == 0) {
      if (wanted != 0)
        reject(describe(plan_, i) + ": a member that " + verb + " " + std::to_string(wanted) + " bytes has no buffer");
      return;
    }
    const Buffer& buffer = plan_class().buffers[plan_class().operands[operands.begin]];
    if (message_bytes(buffer) != wanted || (!buffer.bounded && buffer.dtype != collective.dtype))
      reject(describe(plan_, i) + ": a member " + verb + " " + std::to_string(message_bytes(buffer)) + " bytes of " +
             std::string(name_of(buffer.dtype)) + ", the schedule wants " + std::to_string(wanted));
  }

  void check_meeting(std::uint32_t number) const {
    const Collective& collective = plan_.collectives[number];
    const std::string what = described(plan_, "collective", number, collective.name, collective.line);
    for (const auto& group : plan_.groupings[collective.grouping]) {
      const std::string* path = nullptr;
      for (std::int32_t task : group) {
        const auto found = met_.find({number, task});
        if (found == met_.end()) reject(what + ": task " + std::to_string(task) + " never comes to it");
        if (path != nullptr && found->second.path != *path)
          reject(what + ": task " + std::to_string(task) + " comes to it in " + found->second.path + ", task " +
                 std::to_string(group[0]) + " in " + *path);
        path = &found->second.path;
      }
    }
  }

  const Plan& plan_;
  std::uint32_t class_ = 0;
  std::map<std::uint32_t, std::vector<std::int32_t>> tasks_of_;
  std::vector<Ends> ends_;
  std::map<std::pair<std::uint32_t, std::int32_t>, Site> met_;
};

}  // namespace

void check_messages(const Plan& plan) {
  Messages(plan).check();
}

}  // namespace ferry::verifier
