// Memory: walks the instructions of each class once, with a map from ranges of bytes to the buffers that own them.
// Before the walk, the check computes the effects of each loop body and of a whole step. The walk starts from these
// effects, so that it holds for every iteration and every step.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "plan/verify/ranges.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// Bytes [begin, end) of an arena. Each device has two arenas: for the step, and for the state.
struct Span {
  std::size_t arena = 0;
  std::uint64_t begin = 0, end = 0;
};

/// By arena: the buffer that owns each range of bytes. Bytes in no range have no owner.
using Contents = std::vector<Ranges<std::uint32_t>>;

/// The effect of a region on some bytes: they belong to `owner` after it (kNone: to no buffer). With `maybe` the region
/// may not run, or may not write them. They then belong to `owner` only if they did before, else to no buffer.
struct Effect {
  std::uint32_t owner = kNone;
  bool maybe = false;
  bool operator==(const Effect&) const = default;
};
using Effects = std::vector<Ranges<Effect>>;

constexpr Effect kLost{};

/// The effect of `before` (null: no effect) followed by `after`.
Effect after(const Effect* before, const Effect& after) {
  if (!after.maybe || before == nullptr) return after;
  return before->owner == after.owner ? *before : kLost;
}

/// The effect if one of the two happens (null: no effect).
Effect either(const Effect* a, const Effect* b) {
  if (a == nullptr || b == nullptr) return {(a == nullptr ? b : a)->owner, true};
  return a->owner == b->owner ? Effect{a->owner, a->maybe || b->maybe} : kLost;
}

void append(Effects& all, const Effects& next) {
  for (std::size_t a = 0; a < all.size(); ++a)
    next[a].each([&](std::uint64_t begin, std::uint64_t end, const Effect& effect) {
      all[a].change(begin, end, [&](const Effect* before) { return std::optional(after(before, effect)); });
    });
}

Effects either(const Effects& one, const Effects& other) {
  Effects both = one;
  for (std::size_t a = 0; a < both.size(); ++a) {
    other[a].each([&](std::uint64_t begin, std::uint64_t end, const Effect& effect) {
      both[a].change(begin, end, [&](const Effect* mine) { return std::optional(either(mine, &effect)); });
    });
    one[a].each([&](std::uint64_t begin, std::uint64_t end, const Effect& effect) {
      other[a].visit(begin, end, [&](std::uint64_t from, std::uint64_t to, const Effect* theirs) {
        if (theirs == nullptr) both[a].assign(from, to, {effect.owner, true});
      });
    });
  }
  return both;
}

Effects with_maybe(Effects effects) {
  for (Ranges<Effect>& arena : effects) {
    const Ranges<Effect> sure = arena;
    sure.each([&](std::uint64_t begin, std::uint64_t end, const Effect& e) {
      arena.assign(begin, end, {e.owner, true});
    });
  }
  return effects;
}

void apply_effects(Contents& memory, const Effects& effects) {
  for (std::size_t a = 0; a < memory.size(); ++a)
    effects[a].each([&](std::uint64_t begin, std::uint64_t end, const Effect& effect) {
      memory[a].change(begin, end, [&](const std::uint32_t* owner) -> std::optional<std::uint32_t> {
        const bool lost = effect.owner == kNone || (effect.maybe && (owner == nullptr || *owner != effect.owner));
        if (lost) return std::nullopt;
        return effect.owner;
      });
    });
}

/// Saves the state of the bytes that `effects` touches, to restore it later.
class SavedContents {
 public:
  SavedContents(const Contents& memory, const Effects& effects) : pieces_(memory.size()) {
    for (std::size_t a = 0; a < memory.size(); ++a)
      effects[a].each([&](std::uint64_t begin, std::uint64_t end, const Effect&) {
        memory[a].visit(begin, end, [&](std::uint64_t from, std::uint64_t to, const std::uint32_t* owner) {
          pieces_[a].push_back({from, to, owner == nullptr ? std::nullopt : std::optional(*owner)});
        });
      });
  }
  void restore(Contents& memory) const {
    for (std::size_t a = 0; a < memory.size(); ++a)
      for (const Piece& piece : pieces_[a])
        if (piece.owner)
          memory[a].assign(piece.begin, piece.end, *piece.owner);
        else
          memory[a].erase(piece.begin, piece.end);
  }

 private:
  struct Piece {
    std::uint64_t begin, end;
    std::optional<std::uint32_t> owner;
  };
  std::vector<std::vector<Piece>> pieces_;
};

/// One buffer of a message in flight, or of a stencil that has begun.
struct BufferUse {
  enum class By : std::uint8_t { channel, collective, stencil };
  By by = By::channel;
  std::uint32_t number = 0;  ///< of the channel, collective, or the stencil's region
  BufferId buffer = 0;
  bool operator<(const BufferUse& other) const {
    return std::tie(by, number, buffer) < std::tie(other.by, other.number, other.buffer);
  }
};

/// Counts, for each byte, the messages in flight and the begun stencils that use it.
class UseCounts {
 public:
  explicit UseCounts(std::size_t arenas) : counts_(arenas) {}
  void start(const BufferUse& use, const Span& span) {
    if (uses_.insert(use).second) add(span, 1);
  }
  void end(const BufferUse& use, const Span& span) {
    if (uses_.erase(use) > 0) add(span, -1);
  }
  /// Whether any message or stencil uses a byte of the span.
  [[nodiscard]] bool uses(const Span& span) const {
    bool found = false;
    counts_[span.arena].visit(span.begin, span.end,
                              [&](std::uint64_t, std::uint64_t, const int* n) { found = found || n != nullptr; });
    return found;
  }
  [[nodiscard]] const std::set<BufferUse>& all() const { return uses_; }

 private:
  void add(const Span& span, int by) {
    counts_[span.arena].change(span.begin, span.end, [&](const int* n) -> std::optional<int> {
      const int now = (n == nullptr ? 0 : *n) + by;
      if (now == 0) return std::nullopt;
      return now;
    });
  }

  std::vector<Ranges<int>> counts_;
  std::set<BufferUse> uses_;
};

class ClassMemory {
 public:
  ClassMemory(const Plan& plan, const PlanClass& plan_class)
      : plan_(plan),
        class_(plan_class),
        arenas_(2 * plan_class.devices.size() + 1),
        slot_bytes_(plan_class.buffers.size(), 0),
        effects_(plan_class.regions.size()),
        sending_(arenas_),
        receiving_(arenas_) {}

  void check() {
    for (std::uint32_t b = 0; b < class_.buffers.size(); ++b) check_place(b);
    for (const Instruction& i : class_.instructions)
      if (i.what == Opcode::tiles || i.what == Opcode::stencil) measure_slots(i);
    for (RegionId region : {0U, 1U}) find_effects(region);
    Contents memory(arenas_);
    for (const PlanVariable& variable : class_.variables) write(memory, variable.buffer);
    walk(memory, 0);
    apply_effects(memory,
                  with_maybe(effects_[1]));  // so that the second walk holds for the first step and for any later one
    walk(memory, 1);
    for (const PlanVariable& variable : class_.variables)
      if (!holds(memory, variable.buffer)) reject(name(variable.buffer) + ", a variable, is overwritten in a step");
    check_arenas();
  }

 private:
  // ---- Places ----

  [[nodiscard]] std::string name(std::uint32_t b) const {
    const std::string_view text = plan_.string(class_.buffers[b].name);
    return "buffer " + std::to_string(b) + (text.empty() ? " (scratch)" : " (" + std::string(text) + ")");
  }

  void check_place(std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (b.view_of != kNone) check_view(id);
    if (b.space == Buffer::Space::none) return;
    if (b.space == Buffer::Space::tile) {  // its bytes in a tile depend on the region (tiles.cpp, stencils.cpp)
      if (b.offset > kSlotBytes)
        reject(name(id) + " begins at " + std::to_string(b.offset) + ", the slots have " + std::to_string(kSlotBytes) +
               " bytes");
      return;
    }
    const PlanDevice& device = class_.devices[b.device];
    const std::uint64_t arena = b.space == Buffer::Space::step ? device.step_bytes : device.state_bytes;
    if (b.bounded && b.offset < kExtentBytes) reject(name(id) + " has no room for its extent");
    if (b.offset > arena || b.bytes > arena - b.offset)
      reject(name(id) + " ends at " + std::to_string(b.offset + b.bytes) + ", its arena has " + std::to_string(arena) +
             " bytes");
  }

  /// Checks that each arena ends where its last buffer ends, so that the plan asks for no more memory than it uses.
  void check_arenas() const {
    std::vector<std::array<std::uint64_t, 2>> ends(class_.devices.size());
    for (const Buffer& b : class_.buffers) {
      if (b.view_of != kNone || b.space == Buffer::Space::none || b.space == Buffer::Space::tile) continue;
      std::uint64_t& end = ends[b.device][b.space == Buffer::Space::state ? 1 : 0];
      end = std::max(end,
                     (b.offset + std::max<std::uint64_t>(b.bytes, 1) + kBufferAlign - 1) / kBufferAlign * kBufferAlign);
    }
    for (std::size_t d = 0; d < ends.size(); ++d)
      for (const auto& [bytes, end] :
           {std::pair(class_.devices[d].step_bytes, ends[d][0]), std::pair(class_.devices[d].state_bytes, ends[d][1])})
        if (bytes != end)
          reject("an arena has " + std::to_string(bytes) + " bytes, its buffers end at " + std::to_string(end));
  }

  void check_view(std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    const Buffer& viewed = class_.buffers[b.view_of];
    const bool inside =
        b.offset >= viewed.offset && b.bytes <= viewed.bytes && b.offset - viewed.offset <= viewed.bytes - b.bytes;
    if (!inside || viewed.space != b.space || viewed.device != b.device)
      reject(name(id) + " is a view of " + name(b.view_of) + " and is elsewhere");
  }

  void measure_slots(const Instruction& tiles) {
    if (tiles.tile_elements() == 0) return;
    const bool stencil = tiles.what == Opcode::stencil;
    const TileExtent extent = stencil ? TileExtent() : tile_extent(class_, tiles);
    each_instruction(tiles.region(), [&](const Instruction& i) {
      for (const Range range : {i.inputs, i.outputs})
        each(range, [&](std::uint32_t id, std::uint32_t) {
          const Buffer& b = class_.buffers[id];
          const std::uint64_t bytes = size_of(b.dtype);
          if (b.space == Buffer::Space::tile)
            slot_bytes_[id] =
                (stencil ? tiles.tile_elements() : extent.in_tile(b.bytes / bytes, tiles.tile_elements())) * bytes;
        });
    });
  }

  /// The bytes of a buffer. The last arena holds the slots of tile regions and is empty at the start of each region.
  [[nodiscard]] Span span(std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::tile) return {arenas_ - 1, b.offset, b.offset + slot_bytes_[id]};
    return {2 * b.device + (b.space == Buffer::Space::state ? 1U : 0U), b.offset - (b.bounded ? kExtentBytes : 0),
            b.offset + b.bytes};
  }
  [[nodiscard]] bool has_bytes(std::uint32_t id) const { return class_.buffers[id].space != Buffer::Space::none; }
  [[nodiscard]] BufferId storage(BufferId id) const {
    return class_.buffers[id].view_of == kNone ? id : class_.buffers[id].view_of;
  }

  [[nodiscard]] bool overlap(std::uint32_t a_id, std::uint32_t b_id) const {
    if (!has_bytes(a_id) || !has_bytes(b_id)) return false;
    const Span a = span(a_id), b = span(b_id);
    return a.arena == b.arena && a.begin < b.end && b.begin < a.end;
  }
  [[nodiscard]] bool same_place(std::uint32_t a_id, std::uint32_t b_id) const {
    const Span a = span(a_id), b = span(b_id);
    return a.arena == b.arena && a.begin == b.begin && a.end == b.end;
  }

  // ---- Effects ----

  template <class F>
  void each(Range range, F f) const {
    for (std::uint32_t k = 0; k < range.count; ++k) f(class_.operands[range[k]], k);
  }
  template <class F>
  void each_instruction(RegionId region, F f) const {
    const Range range = class_.regions[region].instructions;
    for (const std::uint32_t k : range) f(class_.instructions[k]);
  }
  /// Calls f for the buffers that an instruction writes when it runs; a wait writes none.
  template <class F>
  void each_written(const Instruction& i, F f) const {
    if (is_wait(i)) return;
    if (i.scratch != kNone) f(i.scratch);
    each(i.outputs, [&](std::uint32_t id, std::uint32_t) { f(id); });
  }
  /// Calls f(buffer, is written) for the buffers that a message uses while it is in flight.
  template <class F>
  void each_in_use(const Instruction& i, F f) const {
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) { f(id, false); });
    each(i.outputs, [&](std::uint32_t id, std::uint32_t) { f(id, true); });
    if (i.scratch != kNone) f(i.scratch, true);
  }

  void find_effects(RegionId region) {
    effects_[region].resize(arenas_);
    each_instruction(region, [&](const Instruction& i) {
      if (i.what == Opcode::loop || i.what == Opcode::branch) {
        find_effects(i.region());
        find_effects(i.other_region());
        append(effects_[region], effects_of(i));
        return;
      }
      if (i.what == Opcode::stencil_begin) return;  // its outputs are complete only after the stencil
      if (i.what == Opcode::tiles || i.what == Opcode::stencil) find_effects(i.region());
      each_written(i, [&](std::uint32_t id) {
        if (!has_bytes(id) || class_.buffers[id].space == Buffer::Space::tile) return;
        const Span at = span(id);
        effects_[region][at.arena].assign(at.begin, at.end, {storage(id), false});
      });
      if (!i.swaps()) return;
      const Span lost = span(class_.inputs(i)[0]);
      effects_[region][lost.arena].assign(lost.begin, lost.end, kLost);
    });
  }

  [[nodiscard]] Effects effects_of(const Instruction& i) const {
    if (i.what == Opcode::branch) return either(effects_[i.region()], effects_[i.other_region()]);
    Effects all = effects_[i.region()];
    append(all, with_maybe(iteration_effects(i)));
    return all;
  }
  /// The effects of one iteration of a loop: the body, then the condition. More iterations have no other effects.
  [[nodiscard]] Effects iteration_effects(const Instruction& i) const {
    Effects round = effects_[i.other_region()];
    append(round, effects_[i.region()]);
    return round;
  }

  // ---- The walk ----

  void write(Contents& memory, std::uint32_t id) const {
    if (!has_bytes(id)) reject(name(id) + " has no bytes and is written");
    const Span at = span(id);
    memory[at.arena].assign(at.begin, at.end, storage(id));
  }

  [[nodiscard]] bool holds(const Contents& memory, std::uint32_t id) const {
    bool all = true;
    const Span at = span(id);
    memory[at.arena].visit(at.begin, at.end, [&](std::uint64_t, std::uint64_t, const std::uint32_t* owner) {
      all = all && owner != nullptr && *owner == storage(id);
    });
    return all;
  }

  void read(const Contents& memory, std::uint32_t id, const Instruction& i) const {
    if (!has_bytes(id)) {
      if (i.what != Opcode::kernel) reject(describe(plan_, i) + " uses " + name(id) + ", which has no bytes");
      return;
    }
    if (!holds(memory, id))
      reject(describe(plan_, i) + " reads " + name(id) + ", which is not written yet or has been overwritten");
  }
  void read(const Contents& memory, Range range, const Instruction& i) const {
    each(range, [&](std::uint32_t id, std::uint32_t) { read(memory, id, i); });
  }

  void walk(Contents& memory, RegionId region) {
    each_instruction(region, [&](const Instruction& i) { execute(memory, i); });
  }

  void execute(Contents& memory, const Instruction& i) {
    if (i.what == Opcode::loop) return loop(memory, i);
    if (i.what == Opcode::branch) return branch(memory, i);
    if (i.what == Opcode::stencil_begin) return begin_stencil(memory, i);
    if (i.what == Opcode::stencil) end_stencil(i);
    if (i.what == Opcode::tiles || i.what == Opcode::stencil) return tiles(memory, i);
    if (!is_wait(i) || !overwrites_input(i)) read(memory, i.inputs, i);
    check_sharing(i);
    if (is_wait(i)) return end_message(memory, i);
    check_in_flight(i);
    each_written(i, [&](std::uint32_t id) { write(memory, id); });
    if (i.swaps()) lose_input(memory, i);
    if (i.what != Opcode::send && i.what != Opcode::receive && i.what != Opcode::collective) return;
    each_in_use(i, [&](std::uint32_t id, bool written) {
      (written ? receiving_ : sending_).start({by(i), i.target, id}, span(id));
    });
  }

  /// After a swap, the bytes of its input may be anything.
  void lose_input(Contents& memory, const Instruction& swap) const {
    const std::uint32_t id = class_.inputs(swap)[0];
    const Span at = span(id);
    if (sending_.uses(at)) reject_use(swap, id, sending_, "swaps", "sent from it");
    memory[at.arena].erase(at.begin, at.end);
  }

  static BufferUse::By by(const Instruction& i) {
    const bool collective = i.what == Opcode::collective || i.what == Opcode::collective_wait;
    return collective ? BufferUse::By::collective : BufferUse::By::channel;
  }
  static bool is_wait(const Instruction& i) {
    return i.what == Opcode::send_wait || i.what == Opcode::receive_wait || i.what == Opcode::collective_wait;
  }

  /// Ends the uses of the message's buffers. The buffers into which it was received must hold their contents.
  void end_message(const Contents& memory, const Instruction& i) {
    each_in_use(i, [&](std::uint32_t id, bool written) {
      (written ? receiving_ : sending_).end({by(i), i.target, id}, span(id));
    });
    check_in_flight(i);
    read(memory, i.outputs, i);
  }

  /// From here to the stencil, nothing may write its inputs and nothing may touch its outputs.
  void begin_stencil(const Contents& memory, const Instruction& i) {
    read(memory, i.inputs, i);
    check_in_flight(i);
    each_in_use(i, [&](std::uint32_t id, bool written) {
      (written ? receiving_ : sending_).start({BufferUse::By::stencil, i.region(), id}, span(id));
    });
  }
  void end_stencil(const Instruction& i) {
    each_in_use(i, [&](std::uint32_t id, bool written) {
      (written ? receiving_ : sending_).end({BufferUse::By::stencil, i.region(), id}, span(id));
    });
  }

  /// Walks the kernels one after another. Tile by tile they have the same effect, since elements depend only on
  /// elements at the same place or in the same row (check_tiles).
  void tiles(Contents& memory, const Instruction& i) {
    memory.back() = {};
    read(memory, i.inputs, i);
    check_in_flight(i);
    walk(memory, i.region());
    read(memory, i.outputs, i);
  }

  /// Whether output o may be written over input k, as the kernel or the collective's schedule allows.
  [[nodiscard]] bool may_overlap_input(const Instruction& i, std::uint32_t o, std::uint32_t k) const {
    if (o != 0 || !may_overwrite(i, k)) return false;
    if (i.what == Opcode::collective || i.what == Opcode::collective_wait)
      return plan_.schedules[plan_.collectives[i.collective()].schedule].in_place;
    return i.what == Opcode::kernel;
  }
  /// Whether the collective that `wait` waits for writes its output over its input. The input can then not be read any
  /// more.
  [[nodiscard]] bool overwrites_input(const Instruction& wait) const {
    return wait.inputs.count == 1 && wait.outputs.count == 1 && may_overlap_input(wait, 0, 0) &&
           overlap(class_.inputs(wait)[0], class_.outputs(wait)[0]);
  }

  /// Checks that outputs overlap inputs only where the instruction may do so, and never each other or the scratch
  /// buffer.
  void check_sharing(const Instruction& i) const {
    each(i.outputs, [&](std::uint32_t out, std::uint32_t o) {
      each(i.inputs, [&](std::uint32_t in, std::uint32_t k) {
        if (!overlap(out, in)) return;
        if (!(may_overlap_input(i, o, k) || i.what == Opcode::copy) || !same_place(out, in))
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

  /// Checks that nothing touches a buffer while a message is received into it, or writes a buffer while it is sent.
  void check_in_flight(const Instruction& i) const {
    check_arrived(i);
    each_written(i, [&](std::uint32_t id) {
      if (!has_bytes(id)) return;
      if (receiving_.uses(span(id))) reject_use(i, id, receiving_, "touches", "received into it");
      if (sending_.uses(span(id))) reject_use(i, id, sending_, "writes", "sent from it");
    });
  }

  void check_arrived(const Instruction& i) const {
    each(i.inputs, [&](std::uint32_t id, std::uint32_t) {
      if (has_bytes(id) && receiving_.uses(span(id))) reject_use(i, id, receiving_, "touches", "received into it");
    });
  }

  [[noreturn]] void reject_use(const Instruction& i, std::uint32_t id, const UseCounts& messages, std::string_view verb,
                               std::string_view how) const {
    std::string text = describe(plan_, i) + " " + std::string(verb) + " " + name(id) + " while ";
    for (const BufferUse& use : messages.all())
      if (overlap(id, use.buffer)) reject(text + described(use) + " is " + std::string(how));
    reject(text + "a message is " + std::string(how));
  }

  [[nodiscard]] std::string described(const BufferUse& use) const {
    if (use.by == BufferUse::By::stencil) return "stencil " + std::to_string(use.number);
    if (use.by == BufferUse::By::collective) return verifier::described(plan_, use.number);
    const Channel& channel = plan_.channels[use.number];
    return verifier::described(plan_, "channel", use.number, channel.name, channel.line);
  }

  /// Checks that the loop changes its condition; else the loop would never end or never begin.
  void check_changes(const Instruction& loop) const {
    bool changes = false;
    const Span at = span(class_.inputs(loop)[0]);
    for (const RegionId region : {loop.region(), loop.other_region()})
      effects_[region][at.arena].visit(at.begin, at.end, [&](std::uint64_t, std::uint64_t, const Effect* effect) {
        changes = changes || effect != nullptr;
      });
    if (!changes) reject(describe(plan_, loop) + ": nothing in it changes its condition");
  }

  void loop(Contents& memory, const Instruction& i) {
    apply_effects(memory, with_maybe(reentry_effects(i)));
    walk(memory, i.region());
    read(memory, i.inputs, i);
    check_arrived(i);
    check_changes(i);
    const SavedContents left(memory, iteration_effects(i));
    walk(memory, i.other_region());
    left.restore(memory);
    read(memory, i.outputs, i);
  }
  /// The effects of one iteration on the condition of the next one: the condition, then the body.
  [[nodiscard]] Effects reentry_effects(const Instruction& i) const {
    Effects all = effects_[i.region()];
    append(all, effects_[i.other_region()]);
    return all;
  }

  void branch(Contents& memory, const Instruction& i) {
    read(memory, i.inputs, i);
    check_arrived(i);
    const Effects both = either(effects_[i.region()], effects_[i.other_region()]);
    const SavedContents before(memory, both);
    walk(memory, i.region());
    before.restore(memory);
    walk(memory, i.other_region());
    before.restore(memory);
    apply_effects(memory, both);
    read(memory, i.outputs, i);
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::size_t arenas_;
  std::vector<std::uint64_t> slot_bytes_;  // of each buffer
  std::vector<Effects> effects_;           // of each region
  UseCounts sending_, receiving_;
};

}  // namespace

void check_memory(const Plan& plan) {
  for (const PlanClass& plan_class : plan.classes) ClassMemory(plan, plan_class).check();
}

}  // namespace ferry::verifier
