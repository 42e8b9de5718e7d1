#include <map>

#include "placement/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

[[noreturn]] void reject(std::string reason) {
  throw Rejected{std::move(reason)};
}

constexpr std::uint64_t kExtentBytes = 8;

/// Whose bytes lie where in one arena: ranges that do not overlap.
class Contents {
 public:
  /// Bytes [begin, end) are `owner`'s now.
  void write(std::uint64_t begin, std::uint64_t end, std::uint32_t owner) {
    cut(begin);
    cut(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    if (begin < end) ranges_[begin] = {end, owner};
  }

  /// True when all of [begin, end) is `owner`'s.
  [[nodiscard]] bool holds(std::uint64_t begin, std::uint64_t end, std::uint32_t owner) const {
    while (begin < end) {
      auto at = ranges_.upper_bound(begin);
      if (at == ranges_.begin()) return false;
      --at;
      if (at->second.end <= begin || at->second.owner != owner) return false;
      begin = at->second.end;
    }
    return true;
  }

  /// What both have in common: elsewhere nobody's.
  void meet(const Contents& other) {
    Contents both;
    for (const auto& [begin, range] : ranges_) {
      std::uint64_t from = begin;
      while (from < range.end) {
        std::uint64_t to = range.end;
        const std::uint32_t theirs = other.owner_at(from, to);
        if (theirs == range.owner) both.write(from, to, range.owner);
        from = to;
      }
    }
    ranges_ = std::move(both.ranges_);
  }

 private:
  struct Owned {
    std::uint64_t end;
    std::uint32_t owner;
  };

  void cut(std::uint64_t at) {
    auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    const Owned rest = range->second;
    range->second.end = at;
    ranges_[at] = rest;
  }

  /// The owner at `from`, and how far (at most `to`) it is the same.
  [[nodiscard]] std::uint32_t owner_at(std::uint64_t from, std::uint64_t& to) const {
    auto next = ranges_.upper_bound(from);
    if (next != ranges_.end()) to = std::min(to, next->first);
    if (next == ranges_.begin()) return kNone;
    --next;
    if (next->second.end <= from) return kNone;
    to = std::min(to, next->second.end);
    return next->second.owner;
  }

  std::map<std::uint64_t, Owned> ranges_;
};

/// All arenas of a class: two for each device.
using Memory = std::vector<Contents>;

class ClassMemory {
 public:
  ClassMemory(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  void check() {
    for (std::uint32_t b = 0; b < class_.buffers.size(); ++b) check_place(b);
    Memory memory(2 * class_.devices.size());
    for (const PlanVariable& variable : class_.variables) write(memory, variable.buffer);
    walk(memory, 0);
    walk(memory, 1);
    walk(memory, 1);  // what one step leaves must not mislead the next
  }

 private:
  [[nodiscard]] std::uint64_t begin_of(const Buffer& b) const { return b.offset - (b.bounded ? kExtentBytes : 0); }
  [[nodiscard]] std::string name(std::uint32_t b) const {
    const std::string_view text = plan_.string(class_.buffers[b].name);
    return "buffer " + std::to_string(b) + (text.empty() ? " (scratch)" : " (" + std::string(text) + ")");
  }

  void check_place(std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::none) return;
    const PlanDevice& device = class_.devices[b.device];
    const std::uint64_t arena = b.space == Buffer::Space::step ? device.step_bytes : device.state_bytes;
    if (b.bounded && b.offset < kExtentBytes) reject(name(id) + " has no room for its extent");
    if (b.offset > arena || b.bytes > arena - b.offset)
      reject(name(id) + " ends at " + std::to_string(b.offset + b.bytes) + ", its arena has " + std::to_string(arena) +
             " bytes");
    if (b.view_of == kNone) return;
    const Buffer& viewed = class_.buffers[b.view_of];
    if (viewed.offset != b.offset || viewed.bytes != b.bytes || viewed.space != b.space || viewed.device != b.device)
      reject(name(id) + " is a view of " + name(b.view_of) + " and lies elsewhere");
  }

  [[nodiscard]] std::size_t arena_of(const Buffer& b) const {
    return 2 * b.device + (b.space == Buffer::Space::state ? 1 : 0);
  }
  [[nodiscard]] std::uint32_t storage(std::uint32_t id) const {
    return class_.buffers[id].view_of == kNone ? id : class_.buffers[id].view_of;
  }

  void write(Memory& memory, std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::none) reject(name(id) + " has no bytes and is written");
    memory[arena_of(b)].write(begin_of(b), b.offset + b.bytes, storage(id));
  }

  void read(const Memory& memory, std::uint32_t id, const Instruction& i) const {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::none) {
      if (i.what != Do::kernel) reject(describe(plan_, i) + " reads " + name(id) + ", which has no bytes");
      return;
    }
    if (!memory[arena_of(b)].holds(begin_of(b), b.offset + b.bytes, storage(id)))
      reject(describe(plan_, i) + " reads " + name(id) + ", which is not written yet or has been overwritten");
  }

  [[nodiscard]] bool overlap(std::uint32_t a_id, std::uint32_t b_id) const {
    const Buffer& a = class_.buffers[a_id];
    const Buffer& b = class_.buffers[b_id];
    return a.space != Buffer::Space::none && b.space != Buffer::Space::none && arena_of(a) == arena_of(b) &&
           begin_of(a) < b.offset + b.bytes && begin_of(b) < a.offset + a.bytes;
  }

  [[nodiscard]] bool same_place(std::uint32_t a_id, std::uint32_t b_id) const {
    const Buffer& a = class_.buffers[a_id];
    const Buffer& b = class_.buffers[b_id];
    return arena_of(a) == arena_of(b) && a.offset == b.offset && a.bytes == b.bytes;
  }

  template <class F>
  void each(Range range, F f) const {
    for (std::uint32_t k = 0; k < range.count; ++k) f(class_.operands[range.begin + k], k);
  }

  void walk(Memory& memory, std::uint32_t region) {
    const Range range = class_.regions[region].instructions;
    for (std::uint32_t k = range.begin; k < range.begin + range.count; ++k) execute(memory, class_.instructions[k]);
  }

  void execute(Memory& memory, const Instruction& i) {
    if (i.what == Do::loop) return loop(memory, i);
    if (i.what == Do::branch) return branch(memory, i);
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
    check_sharing(i);
    check_under_way(i);
    if (i.scratch != kNone) write(memory, i.scratch);
    if (i.what == Do::receive_wait) {
      writing_.erase(i.target);
      each(i.outputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
      return;
    }
    each(i.outputs, [&](std::uint32_t id, std::uint32_t) { write(memory, id); });
    if (i.what == Do::send) reading_[i.target] = class_.operands[i.inputs.begin];
    if (i.what == Do::send_wait) reading_.erase(i.target);
    if (i.what == Do::receive) writing_[i.target] = class_.operands[i.outputs.begin];
  }

  /// Outputs may take the bytes of inputs only where the kernel allows it, and never each other's or the scratch
  /// buffer's.
  void check_sharing(const Instruction& i) const {
    each(i.outputs, [&](std::uint32_t out, std::uint32_t o) {
      each(i.inputs, [&](std::uint32_t in, std::uint32_t k) {
        const bool allowed = o == 0 && k < 32 && (i.in_place >> k & 1U) != 0 && same_place(out, in);
        if (overlap(out, in) && !allowed && !(i.what == Do::copy && same_place(out, in)))
          reject(describe(plan_, i) + " writes " + name(out) + " over its input " + name(in));
      });
      each(i.outputs, [&](std::uint32_t other, std::uint32_t k) {
        if (k > o && overlap(out, other)) reject(describe(plan_, i) + ": its outputs overlap");
      });
      if (i.scratch != kNone && overlap(out, i.scratch))
        reject(describe(plan_, i) + ": its scratch buffer overlaps an output");
    });
    each(i.inputs, [&](std::uint32_t in, std::uint32_t) {
      if (i.scratch != kNone && overlap(in, i.scratch))
        reject(describe(plan_, i) + ": its scratch buffer overlaps an input");
    });
  }

  /// Nothing touches a buffer that a message is being received into; nothing writes one that is being sent.
  void check_under_way(const Instruction& i) const {
    const auto check = [&](std::uint32_t id, bool writes) {
      for (const auto& [channel, buffer] : writing_)
        if (overlap(id, buffer) && !(i.what == Do::receive_wait && i.target == channel))
          reject(describe(plan_, i) + " touches " + name(id) + " while channel " + std::to_string(channel) +
                 " is received into it");
      for (const auto& [channel, buffer] : reading_)
        if (writes && overlap(id, buffer))
          reject(describe(plan_, i) + " writes " + name(id) + " while channel " + std::to_string(channel) +
                 " is sent from it");
    };
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) { check(id, false); });
    if (i.what != Do::receive_wait) each(i.outputs, [&](std::uint32_t id, std::uint32_t) { check(id, true); });
    if (i.scratch != kNone) check(i.scratch, true);
  }

  void loop(Memory& memory, const Instruction& i) {
    walk(memory, i.target);
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
    Memory none = memory;  // no iteration at all
    for (int round = 0; round < 2; ++round) {
      walk(memory, i.other);
      walk(memory, i.target);
      each(i.inputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
    }
    meet(memory, none);
    each(i.outputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
  }

  void branch(Memory& memory, const Instruction& i) {
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
    Memory other = memory;
    walk(memory, i.target);
    walk(other, i.other);
    meet(memory, other);
    each(i.outputs, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
  }

  static void meet(Memory& memory, const Memory& other) {
    for (std::size_t a = 0; a < memory.size(); ++a) memory[a].meet(other[a]);
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::map<std::uint32_t, std::uint32_t> reading_, writing_;  // channel -> buffer
};

}  // namespace

void check_memory(const Plan& plan) {
  for (const PlanClass& plan_class : plan.classes) ClassMemory(plan, plan_class).check();
}

}  // namespace ferry::verifier
