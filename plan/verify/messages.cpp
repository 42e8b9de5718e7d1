#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

std::uint64_t message_bytes(const Buffer& buffer) {
  return buffer.bytes + (buffer.bounded ? kExtentBytes : 0);
}

/// The position of a channel's instruction, and the buffer of the instruction.
struct ChannelEnd {
  std::uint32_t site = 0;
  std::uint32_t index = 0;  ///< in the class's list
  BufferId buffer = kNone;
};

/// The instructions of one channel.
struct Ends {
  std::vector<ChannelEnd> sends, send_waits, receives, receive_waits;
};

/// The sizes that a member of a collective needs.
struct Needs {
  std::int64_t input = 0, output = 0;  ///< elements
  std::int64_t staging = 0;            ///< bytes
  bool operator==(const Needs&) const = default;
};

/// The sizes that each member of a collective needs, by its kind, its parts and its schedule.
class Sizes {
 public:
  Sizes(const Collective& collective, const Schedule& schedule) : collective_(collective), s_(schedule) {
    for (std::int64_t part : collective.parts) {
      total_ += part;
      largest_ = std::max(largest_, part);
    }
    if (s_.kind == CollectiveKind::all_to_all) add_blocks();
    find_staging();
    const auto is_equal = [&](std::int64_t part) { return part == largest_; };
    const bool equal_parts = std::all_of(collective.parts.begin(), collective.parts.end(), is_equal);
    const bool equal_staging = all_staged_ || std::find(staged_.begin(), staged_.end(), true) == staged_.end();
    const bool has_root = s_.kind == CollectiveKind::broadcast || s_.kind == CollectiveKind::scatter ||
                          s_.kind == CollectiveKind::gather || s_.kind == CollectiveKind::reduce;
    all_equal_ = equal_parts && equal_staging && !has_root && s_.kind != CollectiveKind::all_to_all;
  }

  /// Whether all members need the same sizes.
  [[nodiscard]] bool all_equal() const { return all_equal_; }

  [[nodiscard]] Needs of(std::int32_t member) const {
    const auto m = static_cast<std::size_t>(member);
    Needs needs{.staging = all_staged_ || staged_[m] ? static_cast<std::int64_t>(s_.slots) * slot_bytes() : 0};
    const bool root = member == s_.root;
    const bool guest = root && s_.guest_root;
    const std::int64_t all = total_;
    switch (s_.kind) {
      case CollectiveKind::all_reduce:
        needs.input = needs.output = all;
        break;
      case CollectiveKind::reduce_scatter:
        needs.input = all, needs.output = collective_.parts[m];
        break;
      case CollectiveKind::all_gather:
        needs.input = collective_.parts[m], needs.output = all;
        break;
      case CollectiveKind::all_to_all:
        needs.input = rows_[m], needs.output = columns_[m];
        break;
      case CollectiveKind::broadcast:
        needs.input = root ? all : 0, needs.output = guest ? 0 : all;
        break;
      case CollectiveKind::scatter:
        needs.input = root ? all : 0, needs.output = collective_.parts[m];
        break;
      case CollectiveKind::gather:
        needs.input = collective_.parts[m], needs.output = root ? all : 0;
        break;
      case CollectiveKind::reduce:
        needs.input = guest ? 0 : all, needs.output = root ? all : 0;
        break;
    }
    return needs;
  }

 private:
  void add_blocks() {
    const auto n = static_cast<std::size_t>(s_.members);
    rows_.resize(n);
    columns_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        rows_[i] += collective_.parts[i * n + j];
        columns_[j] += collective_.parts[i * n + j];
      }
  }

  /// Finds the members that use slots.
  void find_staging() {
    staged_.assign(static_cast<std::size_t>(s_.members), false);
    if (s_.via == Via::put || s_.via == Via::get)
      return;  // members put contributions into other memory, or read them in place
    for (const ScheduleStep& step : s_.steps) {
      const bool names = step.slot != ScheduleStep::kOfPeer || step.source != ScheduleStep::kOfPeer;
      if (all_staged_ || (!names && step.kind != ScheduleStep::Kind::receive_slot)) continue;
      if (step.only != ScheduleStep::kAll)
        for (std::int32_t m = step.only; m < s_.members; m += s_.scripts()) staged_[m] = true;
      else if (step.except == ScheduleStep::kAll)
        all_staged_ = true;
      else
        for (std::int32_t m = 0; m < s_.members; ++m) staged_[m] = staged_[m] || s_.concerns(step, m);
    }
  }

  [[nodiscard]] std::int64_t slot_bytes() const {
    const std::int64_t bytes = largest_ * static_cast<std::int64_t>(size_of(collective_.dtype));
    return (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  }

  const Collective& collective_;
  const Schedule& s_;
  std::int64_t total_ = 0, largest_ = 0;
  std::vector<std::int64_t> rows_, columns_;
  bool all_staged_ = false, all_equal_ = false;
  std::vector<bool> staged_;
};

class Messages {
 public:
  Messages(const Plan& plan, const Tables& tables)
      : plan_(plan),
        tables_(tables),
        ends_(plan.channels.size()),
        starts_(plan.collectives.size()),
        waits_(plan.collectives.size()) {}

  void check() {
    for (class_ = 0; class_ < plan_.classes.size(); ++class_)
      for (RegionId region = 0; region < plan_class().regions.size(); ++region) walk(region);
    for (std::uint32_t channel = 0; channel < plan_.channels.size(); ++channel) check_channel(channel);
    for (std::uint32_t collective = 0; collective < plan_.collectives.size(); ++collective)
      check_collective(collective);
  }

 private:
  const PlanClass& plan_class() const { return plan_.classes[class_]; }

  void walk(RegionId region) {
    const Range range = plan_class().regions[region].instructions;
    const std::uint32_t site = tables_.site_of[class_][region];
    for (const std::uint32_t k : range) {
      const Instruction& i = plan_class().instructions[k];
      switch (i.what) {
        case Opcode::send:
          ends(i, true).sends.push_back(spot(i, k, site));
          break;
        case Opcode::send_wait:
          ends(i, true).send_waits.push_back(spot(i, k, site));
          break;
        case Opcode::receive:
          ends(i, false).receives.push_back(spot(i, k, site));
          break;
        case Opcode::receive_wait:
          ends(i, false).receive_waits.push_back(spot(i, k, site));
          break;
        case Opcode::collective:
          starts_[i.collective()].push_back({class_, site, k, &i});
          break;
        case Opcode::collective_wait:
          waits_[i.collective()].push_back({class_, site, k, &i});
          break;
        default:
          break;
      }
    }
  }

  ChannelEnd spot(const Instruction& i, std::uint32_t index, std::uint32_t site) const {
    const Range range = i.inputs.count > 0 ? i.inputs : i.outputs;
    return {site, index, plan_class().operands[range[0]]};
  }

  /// The entry of the instruction's channel. Rejects the plan unless the class has only one task: the channel's sender
  /// (or receiver).
  Ends& ends(const Instruction& i, bool sender) {
    const Channel& channel = plan_.channels[i.channel()];
    const std::int32_t task = sender ? channel.from : channel.to;
    if (!tables_.is_only_task(class_, task))
      reject(describe(plan_, i) + " is on a task that is not the channel's " +
             std::string(sender ? "sender" : "receiver") + " " + std::to_string(task));
    return ends_[i.channel()];
  }

  void check_channel(std::uint32_t number) const {
    const Channel& channel = plan_.channels[number];
    const Ends& e = ends_[number];
    const std::string what = described(plan_, "channel", number, channel.name, channel.line) + ", task " +
                             std::to_string(channel.from) + " -> " + std::to_string(channel.to);
    if (channel.from == channel.to) reject(what + ": a task sends to itself");
    if (e.sends.empty() && e.receives.empty()) reject(what + ": neither sent nor received");
    if (e.sends.empty()) reject(what + ": a receive without a send");
    if (e.receives.empty()) reject(what + ": a send without a receive");
    if (e.sends.size() > 1 || e.receives.size() > 1) reject(what + ": two messages with one tag");
    check_pair(what + ", sending", e.sends, e.send_waits);
    check_pair(what + ", receiving", e.receives, e.receive_waits);
    if (e.sends[0].site != e.receives[0].site)
      reject(what + ": sent in " + tables_.sites[e.sends[0].site].name + ", received in " +
             tables_.sites[e.receives[0].site].name);
    const Buffer& from = buffer_of(channel.from, e.sends[0]);
    const Buffer& to = buffer_of(channel.to, e.receives[0]);
    if (from.dtype != to.dtype || channel.dtype != from.dtype)
      reject(what + ": sent as " + std::string(name_of(from.dtype)) + ", received as " +
             std::string(name_of(to.dtype)));
    if (message_bytes(from) != message_bytes(to) || message_bytes(from) != channel.bytes || from.bounded != to.bounded)
      reject(what + ": " + std::to_string(message_bytes(from)) + " bytes are sent, " +
             std::to_string(message_bytes(to)) + " received, the channel has " + std::to_string(channel.bytes));
    if (from.sizes != to.sizes) reject(what + ": sent and received with different dims");
    if (channel.put) check_put(what, channel, e.sends[0]);
  }

  /// Checks a channel with `put`: a kernel may write its output into the receiver's memory instead of this buffer. So
  /// the kernel must come before the send, on the same strand and in the same region, and nothing else may use the
  /// buffer.
  void check_put(const std::string& what, const Channel& channel, const ChannelEnd& send) const {
    if (!tasks_share_memory(plan_, channel.from, channel.to))
      reject(what + ": it is put, and the tasks share no memory");
    const std::uint32_t number = plan_.class_of[channel.from];
    const Instruction& sends = plan_.classes[number].instructions[send.index];
    const Buffer& buffer = plan_.classes[number].buffers[send.buffer];
    Makers& all = makers_of(number);
    const auto maker = all.of.find(send.buffer);
    const bool makes = maker != all.of.end() && maker->second.site == send.site && maker->second.owner < send.index &&
                       maker->second.strand == sends.strand;
    if (buffer.space != Buffer::Space::step || buffer.bounded || buffer.view_of != kNone || !makes)
      reject(what + ": it is put, and no kernel makes it for this message alone");
    constexpr std::uint32_t kWithSend = 3, kWithTiles = 4;  // uses of the buffer; in a tile region `tiles` is one
    if (all.touches[send.buffer] != (maker->second.in_tiles ? kWithTiles : kWithSend))
      reject(what + ": it is put, and others touch it");
    if (!all.putting.insert(maker->second.owner).second) reject(what + ": an instruction puts two values");
  }

  /// The kernel that has a buffer as its only output.
  struct Maker {
    std::uint32_t owner = 0;  ///< index of the kernel, or of its tile region's instruction, in the class's list
    std::uint32_t site = 0;
    std::uint16_t strand = 0;
    bool in_tiles = false;
  };
  struct Makers {
    std::unordered_map<std::uint32_t, Maker> of;  ///< by buffer
    std::vector<std::uint32_t> touches;           ///< of each buffer: how often instructions name it, plus its views
    std::set<std::uint32_t> putting;              ///< owners of a value that is put
  };

  Makers& makers_of(std::uint32_t plan_class) const {
    const auto [at, fresh] = makers_.try_emplace(plan_class);
    Makers& all = at->second;
    if (!fresh) return all;
    const PlanClass& c = plan_.classes[plan_class];
    const auto note = [&](const Instruction& kernel, const Maker& maker) {
      if (kernel.what == Opcode::kernel && kernel.outputs.count == 1) all.of[c.outputs(kernel)[0]] = maker;
    };
    for (RegionId region = 0; region < c.regions.size(); ++region) {
      const Range range = c.regions[region].instructions;
      if (c.regions[region].kind == Region::Kind::tile) continue;
      for (const std::uint32_t k : range) {
        const Instruction& i = c.instructions[k];
        const Maker maker{k, tables_.site_of[plan_class][region], i.strand, i.what == Opcode::tiles};
        note(i, maker);
        if (i.what != Opcode::tiles || i.tile_elements() == 0) continue;
        const Range members = c.regions[i.region()].instructions;
        for (const std::uint32_t m : members) note(c.instructions[m], maker);
      }
    }
    all.touches.resize(c.buffers.size());
    for (const Instruction& i : c.instructions) {
      if (i.scratch != kNone) ++all.touches[i.scratch];
      for (const Range range : {i.inputs, i.outputs})
        for (std::uint32_t k = 0; k < range.count; ++k) ++all.touches[c.operands[range[k]]];
    }
    for (const Buffer& b : c.buffers)
      if (b.view_of != kNone) ++all.touches[b.view_of];
    for (const PlanVariable& variable : c.variables) ++all.touches[variable.buffer];
    return all;
  }

  static void check_pair(const std::string& what, const std::vector<ChannelEnd>& starts,
                         const std::vector<ChannelEnd>& waits) {
    if (waits.size() != 1) reject(what + ": started once, waited for " + std::to_string(waits.size()) + " times");
    if (starts[0].site != waits[0].site || starts[0].index > waits[0].index || starts[0].buffer != waits[0].buffer)
      reject(what + ": the wait does not follow its start, or is for another buffer");
  }

  const Buffer& buffer_of(std::int32_t task, const ChannelEnd& spot) const {
    return plan_.classes[plan_.class_of[task]].buffers[spot.buffer];
  }

  void check_size(const PlanClass& c, const Instruction& i, Range operands, std::int64_t elements,
                  const Collective& collective, const char* verb) const {
    const std::uint64_t wanted = static_cast<std::uint64_t>(elements) * size_of(collective.dtype);
    if (operands.count == 0) {
      if (wanted != 0)
        reject(describe(plan_, i) + ": a member that " + verb + " " + std::to_string(wanted) + " bytes has no buffer");
      return;
    }
    const Buffer& buffer = c.buffers[c.operands[operands[0]]];
    if (message_bytes(buffer) != wanted || (!buffer.bounded && buffer.dtype != collective.dtype))
      reject(describe(plan_, i) + ": a member " + verb + " " + std::to_string(message_bytes(buffer)) + " bytes of " +
             std::string(name_of(buffer.dtype)) + ", the schedule wants " + std::to_string(wanted));
  }

  /// Checks that all tasks of the groups start the collective once, in the same site, with the buffers that the
  /// schedule needs.
  void check_collective(std::uint32_t number) const {
    const Collective& collective = plan_.collectives[number];
    const std::string what = described(plan_, number);
    const std::vector<GroupPosition>& places = tables_.places[collective.grouping];
    const Sizes sizes(collective, plan_.schedules[collective.schedule]);
    std::vector<std::uint32_t> came;
    for (const Arrival& arrival : starts_[number]) {
      if (!came.empty() && came.back() == arrival.plan_class)
        reject(what + ": task " + std::to_string(tables_.tasks_of[arrival.plan_class][0]) + " takes part twice");
      came.push_back(arrival.plan_class);
      if (arrival.site != starts_[number][0].site) reject_places(what, arrival, starts_[number][0]);
      check_members(arrival, collective, sizes, places);
    }
    for (std::uint32_t c : tables_.classes_of[collective.grouping])
      if (!std::binary_search(came.begin(), came.end(), c)) reject_absence(what, c, places);
    check_waits(what, number);
  }

  /// The start of a collective, or the wait for it, in one class.
  struct Arrival {
    std::uint32_t plan_class = 0, site = 0;
    std::uint32_t index = 0;  ///< in the class's list
    const Instruction* instruction = nullptr;
  };

  /// Checks that each class that starts the collective waits for it once, later in the same region, with the same
  /// buffers.
  void check_waits(const std::string& what, std::uint32_t number) const {
    const std::vector<Arrival>& starts = starts_[number];
    const std::vector<Arrival>& waits = waits_[number];  // both in the order of the classes
    for (std::size_t k = 0; k < std::max(starts.size(), waits.size()); ++k) {
      const bool waits_alone = k == starts.size();
      if (waits_alone || k == waits.size() || starts[k].plan_class != waits[k].plan_class)
        reject(what + ": task " + std::to_string(tables_.tasks_of[(waits_alone ? waits : starts)[k].plan_class][0]) +
               " does not start it once and wait for it once");
      const Instruction& start = *starts[k].instruction;
      const Instruction& wait = *waits[k].instruction;
      if (starts[k].site != waits[k].site || starts[k].index > waits[k].index || start.scratch != wait.scratch ||
          !same_buffers(starts[k].plan_class, start.inputs, wait.inputs) ||
          !same_buffers(starts[k].plan_class, start.outputs, wait.outputs))
        reject(what + ": on task " + std::to_string(tables_.tasks_of[starts[k].plan_class][0]) +
               " the wait does not follow its start, or is for another buffer");
    }
  }

  [[nodiscard]] bool same_buffers(std::uint32_t plan_class, Range a, Range b) const {
    const PlanClass& role = plan_.classes[plan_class];
    return std::ranges::equal(role.operands_of(a), role.operands_of(b));
  }

  void check_members(const Arrival& arrival, const Collective& collective, const Sizes& sizes,
                     const std::vector<GroupPosition>& places) const {
    const Instruction& i = *arrival.instruction;
    const std::vector<std::int32_t>& tasks = tables_.tasks_of[arrival.plan_class];
    const bool all_here = tables_.covers[collective.grouping][arrival.plan_class];
    if (all_here && sizes.all_equal()) return check_needs(arrival, collective, sizes.of(places[tasks[0]].member));
    std::optional<Needs> last;
    for (std::int32_t task : tasks) {
      const GroupPosition place = places[task];
      if (place.group < 0) reject(describe(plan_, i) + ": task " + std::to_string(task) + " is in none of its groups");
      const Needs needs = sizes.of(place.member);
      if (last == needs) continue;
      last = needs;
      check_needs(arrival, collective, needs);
    }
  }

  void check_needs(const Arrival& arrival, const Collective& collective, const Needs& needs) const {
    const Instruction& i = *arrival.instruction;
    const PlanClass& c = plan_.classes[arrival.plan_class];
    check_size(c, i, i.inputs, needs.input, collective, "gives");
    check_size(c, i, i.outputs, needs.output, collective, "gets");
    if (plan_.schedules[collective.schedule].via == Via::get) check_reached(c, i);
    const std::uint64_t there = i.scratch == kNone ? 0 : c.buffers[i.scratch].bytes;
    if (there < static_cast<std::uint64_t>(needs.staging))
      reject(describe(plan_, i) + ": its staging slots need " + std::to_string(needs.staging) + " bytes");
  }

  /// Checks an input that other members read (Via::get). It must be in the step's arena, which they can read, or the
  /// instruction must have scratch memory there for a copy.
  void check_reached(const PlanClass& c, const Instruction& i) const {
    if (i.inputs.count == 0) return;
    const Buffer& input = c.buffers[c.inputs(i)[0]];
    if (input.space == Buffer::Space::step) return;
    if (i.scratch == kNone || c.buffers[i.scratch].space != Buffer::Space::step ||
        c.buffers[i.scratch].bytes < input.bytes)
      reject(describe(plan_, i) + ": others get its input, but cannot reach it, and it has no space for a copy");
  }

  [[noreturn]] void reject_places(const std::string& what, const Arrival& a, const Arrival& b) const {
    reject(what + ": task " + std::to_string(tables_.tasks_of[a.plan_class][0]) + " comes to it in " +
           tables_.sites[a.site].name + ", task " + std::to_string(tables_.tasks_of[b.plan_class][0]) + " in " +
           tables_.sites[b.site].name);
  }

  [[noreturn]] void reject_absence(const std::string& what, std::uint32_t plan_class,
                                   const std::vector<GroupPosition>& places) const {
    for (std::int32_t task : tables_.tasks_of[plan_class])
      if (places[task].group >= 0) reject(what + ": task " + std::to_string(task) + " never comes to it");
    reject(what + ": a task never comes to it");
  }

  const Plan& plan_;
  const Tables& tables_;
  std::uint32_t class_ = 0;
  std::vector<Ends> ends_;
  std::vector<std::vector<Arrival>> starts_, waits_;  // of each collective
  mutable std::map<std::uint32_t, Makers> makers_;    // of classes with puts
};

}  // namespace

void check_messages(const Plan& plan, const Tables& tables) {
  Messages(plan, tables).check();
}

}  // namespace ferry::verifier
