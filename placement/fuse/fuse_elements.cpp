#include "placement/fuse/fuse_elements.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/fuse/touched.hpp"

namespace ferry {
namespace {

using OfBuffers = std::unordered_map<std::uint32_t, std::uint32_t>;

/// A tile has at most kMostElements elements, and a multiple of kLine elements if the slots have enough room.
constexpr std::int64_t kMostElements = 4096, kLine = 64;
/// The elements of a tile on a device. A kernel is generated for the region, and each of its threads computes a few
/// elements.
constexpr std::int64_t kDeviceTile = kLine;
/// The most dims of the results of a device's region, because the dims of broadcast inputs are arguments of its kernel.
constexpr std::size_t kDeviceDims = 8;

bool is_plain(const PlanClass& plan, std::uint32_t b) {
  return !plan.buffers[b].bounded && plan.buffers[b].space != Buffer::Space::none;
}

bool may_be_tiled(const PlanClass& plan, const Instruction& instruction) {
  return instruction.what == Opcode::kernel && (instruction.may & kFusable) != 0 && instruction.outputs.count == 1 &&
         instruction.inputs.count <= kTileInputs && instruction.scratch == kNone &&
         is_plain(plan, plan.outputs(instruction)[0]);
}

bool is_elementwise(const PlanClass& plan, const Instruction& instruction, const KernelFacts& facts) {
  if (!facts.elementwise.contains(instruction.op) || !may_be_tiled(plan, instruction)) return false;
  for (const std::uint32_t b : plan.inputs(instruction))
    if (!is_plain(plan, b)) return false;
  return !plan.on_queue(instruction) || plan.buffers[plan.outputs(instruction)[0]].sizes.size() <= kDeviceDims;
}

/// The elements that a group works on: `elements` elements, in rows of `row` elements if a member works by rows (else
/// 0).
struct Extent {
  std::int64_t elements = 0;  ///< 0: the group cannot be joined
  std::int64_t row = 0;

  /// The number of elements of a value with one element for each row.
  [[nodiscard]] std::int64_t rows() const { return row == 0 ? elements : elements / row; }
  [[nodiscard]] bool has(std::int64_t count) const { return count == elements || count == rows(); }
};

/// The extent of two joined groups; 0 elements if they do not fit.
Extent together(const Extent& a, const Extent& b) {
  if (a.elements == b.elements && (a.row == b.row || a.row == 0 || b.row == 0))
    return {a.elements, std::max(a.row, b.row)};
  if (a.row > 0 && b.row == 0 && a.rows() == b.elements) return a;
  if (b.row > 0 && a.row == 0 && b.rows() == a.elements) return b;
  return {};
}

/// Whether a value of sizes `from`, with one element for each row of a value of sizes `to`, is broadcast along the
/// rows.
bool is_one_a_row(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
  std::size_t d = 1;  // from the last dim
  while (d <= to.size() && (d > from.size() || from[from.size() - d] == 1)) ++d;
  for (; d <= to.size(); ++d)
    if ((d > from.size() ? 1 : from[from.size() - d]) != to[to.size() - d]) return false;
  return true;
}

/// One instruction of a list, or several that have been joined.
struct TileGroup : Touched {
  std::vector<std::uint32_t> members;  ///< places in the list, ascending; empty if it is now part of another group
  Storages whole;  ///< the values of `reads` with one element for each element of the extent, or for each row
  Extent extent;
  std::uint32_t device = 0;
  std::int64_t from = 0;  ///< fewest elements with which it may be joined with others
  bool waits = false;     ///< whether it is the wait for a message

  /// Whether the group may move past the wait for a message. It then keeps its single large input alive instead of its
  /// result, so it takes no more memory.
  [[nodiscard]] bool may_wait() const { return whole.size() <= 1; }
  [[nodiscard]] bool joins(const TileGroup& later) const {
    return extent.elements > 0 && device == later.device && together(extent, later.extent).elements >= from &&
           members.size() + later.members.size() <= kTileKernels &&
           (meet(writes, later.whole) || meet(whole, later.whole));
  }
  void take(TileGroup& other) {
    const auto middle = members.insert(members.end(), other.members.begin(), other.members.end());
    std::inplace_merge(members.begin(), middle, members.end());
    other.members.clear();
    extent = together(extent, other.extent);
    touch(other);
    add(whole, other.whole);
  }
};

/// The slots of a tile region, in bytes for each element of a tile, or for each row.
class Slots {
 public:
  /// Reserves `bytes` bytes at the first free offset that is a multiple of `bytes`, and returns the offset.
  std::uint64_t take(std::uint64_t bytes) {
    for (std::uint64_t at = 0;; at += bytes) {
      const auto hit = std::any_of(used_.begin(), used_.end(),
                                   [&](const Slot& s) { return at < s.at + s.bytes && s.at < at + bytes; });
      if (hit) continue;
      used_.push_back({at, bytes});
      end_ = std::max(end_, at + bytes);
      return at;
    }
  }
  void give(std::uint64_t at) {
    std::erase_if(used_, [&](const Slot& s) { return s.at == at; });
  }
  [[nodiscard]] std::uint64_t bytes() const { return end_; }

 private:
  struct Slot {
    std::uint64_t at, bytes;
  };
  std::vector<Slot> used_;
  std::uint64_t end_ = 0;
};

class ElementFuser {
 public:
  explicit ElementFuser(ClassPlan& plan) : form_(plan), plan_(plan.role), facts_(plan.facts) {}

  void run() {
    const std::uint32_t regions = form_.regions();
    for (std::uint32_t r = 0; r < regions; ++r) {
      const auto& list = form_.list(r);
      const auto can = [&](const Instruction& i) { return is_fusable(form_, i, from_of(i)) || row_of(i) > 0; };
      if (std::count_if(list.begin(), list.end(), can) < 2) continue;
      if (touches_.empty()) touches_ = count_touches(form_);
      fuse(r);
    }
  }

 private:
  // ---- Groups ----

  void fuse(RegionId region) {
    const std::vector<Instruction> list = std::move(form_.list(region));
    std::vector<TileGroup> groups;
    std::size_t barrier = 0;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      groups.push_back(group_of(list[i], i));
      if (!groups.back().waits && list[i].what != Opcode::kernel && list[i].what != Opcode::copy &&
          list[i].what != Opcode::tiles)
        barrier = groups.size();
      if (groups.back().extent.elements > 0) join(list, groups, barrier);
    }
    std::vector<Instruction> fused;
    fused.reserve(list.size());
    for (const TileGroup& group : groups) {
      if (group.members.size() > 1 && pays(list, group))
        if (const std::optional<Instruction> tiles = make(list, group)) {
          fused.push_back(*tiles);
          continue;
        }
      for (std::uint32_t m : group.members) fused.push_back(list[m]);
    }
    form_.list(region) = std::move(fused);
  }

  /// Whether more than one member works on all elements, not only on one element for each row.
  bool pays(const std::vector<Instruction>& list, const TileGroup& group) const {
    return std::count_if(group.members.begin(), group.members.end(), [&](std::uint32_t m) {
             bool large = false;
             for (const Range range : {list[m].inputs, list[m].outputs})
               for (const std::uint32_t b : plan_.operands_of(range)) large = large || counts(b, group.extent.elements);
             return large;
           }) > 1;
  }

  /// The elements in a row of the instruction's first input, if it works by rows and may be part of a tile region; else
  /// 0.
  std::int64_t row_of(const Instruction& instruction) const {
    if (facts_.rows.empty() || !may_be_tiled(plan_, instruction)) return 0;
    const auto found = facts_.rows.find(plan_.outputs(instruction)[0]);
    if (found == facts_.rows.end() || !is_plain(plan_, plan_.inputs(instruction)[0])) return 0;
    return found->second;
  }

  /// The fewest elements of a value for which its kernel is joined. On a device each kernel is a launch, so joining
  /// pays for values of any size.
  std::int64_t from_of(const Instruction& instruction) const {
    return plan_.on_queue(instruction) ? 1 : facts_.fuse_from;
  }

  Extent extent_of(const Instruction& instruction) const {
    if (const std::int64_t row = row_of(instruction); row > 0)
      return {elements_of(plan_.buffers[plan_.inputs(instruction)[0]]), row};
    if (!is_elementwise(plan_, instruction, facts_)) return {};
    const std::int64_t elements = elements_of(plan_.buffers[plan_.outputs(instruction)[0]]);
    return {elements >= from_of(instruction) || !facts_.rows.empty() ? elements : 0, 0};
  }

  TileGroup group_of(const Instruction& instruction, std::uint32_t place) const {
    TileGroup group;
    group.members = {place};
    group.touch(plan_, instruction);
    group.extent = extent_of(instruction);
    group.from = from_of(instruction);
    group.waits = instruction.what == Opcode::send_wait || instruction.what == Opcode::receive_wait ||
                  instruction.what == Opcode::collective_wait;
    if (group.extent.elements > 0) group.device = plan_.buffers[plan_.outputs(instruction)[0]].device;
    for (const std::uint32_t b : plan_.inputs(instruction))
      if (group.extent.has(elements_of(plan_.buffers[b]))) add(group.whole, storage_of(plan_, b));
    return group;
  }

  /// Joins the last group with earlier groups, one after another.
  void join(const std::vector<Instruction>& list, std::vector<TileGroup>& groups, std::size_t barrier) const {
    for (std::size_t at = groups.size() - 1;;) {
      const std::size_t joined = join_one(list, groups, std::max(barrier, at < kFuseReach ? 0 : at - kFuseReach), at);
      if (joined == groups.size()) return;
      at = joined;
    }
  }

  /// Joins the group at `at` with an earlier one, from place `first` on. Returns the place of the joined group, or the
  /// number of groups if none could be joined.
  std::size_t join_one(const std::vector<Instruction>& list, std::vector<TileGroup>& groups, std::size_t first,
                       std::size_t at) const {
    for (std::size_t before = at; before-- > first;) {
      if (groups[before].members.empty() || !groups[before].joins(groups[at])) continue;
      const auto free = [&](const TileGroup& moved, bool waits) {
        for (std::size_t between = before + 1; between < at; ++between) {
          const TileGroup& other = groups[between];
          if (!other.members.empty() && ((other.waits && !waits) || other.conflicts(moved))) return false;
        }
        return true;
      };
      const bool later = free(groups[before], groups[before].may_wait());
      if ((!later && !free(groups[at], false)) || !keeps_rows(list, groups[before], groups[at])) continue;
      const std::size_t place = later ? at : before;
      groups[place].take(groups[later ? before : at]);
      return place;
    }
    return groups.size();
  }

  /// Whether the members of both groups read the outputs of other members row by row, so that no tile needs rows of
  /// another tile. Without rows this always holds, because all outputs of members have the same number of elements.
  bool keeps_rows(const std::vector<Instruction>& list, const TileGroup& a, const TileGroup& b) const {
    const Extent extent = together(a.extent, b.extent);
    if (extent.row == 0) return true;
    bool keeps = true;
    for (const TileGroup* group : {&a, &b})
      for (std::uint32_t m : group->members) {
        const std::uint32_t out = plan_.outputs(list[m])[0];
        keeps = keeps && extent.has(elements_of(plan_.buffers[out]));
        for (const std::uint32_t in : plan_.inputs(list[m])) {
          const std::uint32_t storage = storage_of(plan_, in);
          if (has(a.writes, storage) || has(b.writes, storage)) keeps = keeps && follows(in, out, extent);
        }
      }
    return keeps;
  }

  /// Whether row i of `out` needs only row i of `in`. (A kernel that reads more elements than it makes works by rows.)
  bool follows(std::uint32_t in, std::uint32_t out, const Extent& extent) const {
    const std::int64_t made = elements_of(plan_.buffers[out]);
    if (counts(in, made) || counts(in, extent.elements)) return true;
    return counts(in, extent.rows()) && is_one_a_row(plan_.buffers[in].sizes, plan_.buffers[out].sizes);
  }

  // ---- Tile regions ----

  /// Makes the `tiles` instruction and its region; nothing if the slots do not fit.
  std::optional<Instruction> make(const std::vector<Instruction>& list, const TileGroup& group) {
    std::vector<Instruction> body;
    for (std::uint32_t m : group.members) body.push_back(list[m]);
    for (Instruction& member : body) member.may = 0;
    const std::int64_t tile = place(body, group.extent);
    if (tile == 0) return std::nullopt;
    Instruction tiles = body.back();
    tiles.what = Opcode::tiles;
    tiles.attrs = kNone;
    tiles.in_place = 0;
    tiles.op = form_.tables().string(ops_of(body));
    tiles.other = static_cast<std::uint32_t>(tile);
    Storages in, out;
    for (const Instruction& member : body) {
      for (const std::uint32_t b : plan_.inputs(member)) {
        const bool read = !is_inside(b) && plan_.buffers[b].space != Buffer::Space::none;
        if (read && !has(out, whole(b))) add(in, b);
      }
      for (const std::uint32_t b : plan_.outputs(member))
        if (!is_inside(b)) add(out, whole(b));
    }
    form_.add_operands(tiles, in, out);
    tiles.target = form_.add(Region::Kind::tile);
    form_.list(tiles.target) = std::move(body);
    return tiles;
  }

  /// "Mul+Add"; if there are many, only the first ones.
  std::string ops_of(const std::vector<Instruction>& body) const {
    constexpr std::size_t kShown = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(body.size(), kShown); ++i)
      text.append(i == 0 ? "" : "+").append(form_.tables().text(body[i].op));
    return body.size() > kShown ? text + "+" + std::to_string(body.size() - kShown) + " more" : text;
  }

  /// Gives a slot to each value that only the region uses. Returns the elements of a tile; 0 if the slots do not fit.
  std::int64_t place(const std::vector<Instruction>& body, const Extent& extent) {
    OfBuffers last;  // the last member that touches a buffer
    Storages outside, inside;
    std::uint64_t outside_bytes = 0;
    count_inside(body);
    for (std::uint32_t m = 0; m < body.size(); ++m)
      for (const Range range : {body[m].inputs, body[m].outputs})
        for (const std::uint32_t b : plan_.operands_of(range)) {
          last[b] = m;
          Storages& seen = is_inside(b) ? inside : outside;
          if (has(seen, b)) continue;
          seen.push_back(b);
          if (&seen == &outside && !is_of_rows(b, extent)) outside_bytes += size_of(plan_.buffers[b].dtype);
        }
    Slots slots, of_rows;
    for (std::uint32_t m = 0; m < body.size(); ++m) place_output(body[m], m, last, slots, of_rows, extent);
    const std::int64_t tile = plan_.on_queue(body.front()) ? std::min(kDeviceTile, extent.elements)
                                                           : tile_of(slots.bytes() + outside_bytes, extent);
    const auto elements = static_cast<std::uint64_t>(tile), rows = static_cast<std::uint64_t>(extent.rows());
    const std::uint64_t behind = (slots.bytes() * elements + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
    const std::uint64_t rows_a_tile = rows * elements / static_cast<std::uint64_t>(extent.elements);
    const bool fits = behind + of_rows.bytes() * rows_a_tile <= kSlotBytes;
    for (std::uint32_t b : inside) {
      Buffer& buffer = plan_.buffers[b];
      if (!fits) buffer.space = Buffer::Space::step;
      const std::uint64_t at = is_of_rows(b, extent) ? behind + buffer.offset * rows_a_tile : buffer.offset * elements;
      buffer.offset = fits ? at : 0;
    }
    return fits ? tile : 0;
  }

  /// The number of elements of a tile, if one element of all values takes `bytes` bytes. A tile has whole rows if there
  /// are rows, and few enough elements for at least two tiles.
  std::int64_t tile_of(std::uint64_t bytes, const Extent& extent) const {
    const auto room = static_cast<std::int64_t>((extent.row > 0 ? kSlotBytes : kTileBytes) / bytes);
    const std::int64_t half = std::max<std::int64_t>(1, facts_.fuse_from / 2);
    if (extent.row > 0) return std::max<std::int64_t>(1, std::min(room, half) / extent.row) * extent.row;
    return std::min(std::max(kLine, std::min(room / kLine * kLine, kMostElements)), half);
  }

  /// Whether the value has one element for each row.
  [[nodiscard]] bool is_of_rows(std::uint32_t b, const Extent& extent) const {
    return extent.row > 1 && counts(b, extent.rows());
  }
  [[nodiscard]] bool counts(std::uint32_t b, std::int64_t elements) const {
    return elements_of(plan_.buffers[b]) == elements;
  }

  /// Gives the member's output a slot if only the region uses it. This is the slot of an input that no later member
  /// uses, if the kernel may write in place. Then frees the slots of the other inputs that no later member uses.
  void place_output(const Instruction& member, std::uint32_t m, const OfBuffers& last, Slots& slots, Slots& of_rows,
                    const Extent& extent) {
    const std::uint32_t out = plan_.outputs(member)[0];
    const std::uint64_t bytes = size_of(plan_.buffers[out].dtype);
    const auto slots_of = [&](std::uint32_t b) -> Slots& { return is_of_rows(b, extent) ? of_rows : slots; };
    std::uint32_t taken = kNone;
    const auto ends = [&](std::uint32_t b) { return is_inside(b) && last.at(b) == m && b != out; };
    if (is_inside(out)) {
      for (std::uint32_t k = 0; k < member.inputs.count; ++k) {
        const std::uint32_t b = plan_.inputs(member)[k];
        const bool may = may_overwrite(member, k) && size_of(plan_.buffers[b].dtype) == bytes &&
                         is_of_rows(b, extent) == is_of_rows(out, extent);
        if (taken == kNone && may && ends(b)) taken = b;
      }
      plan_.buffers[out].offset = taken == kNone ? slots_of(out).take(bytes) : plan_.buffers[taken].offset;
    }
    Storages given;
    for (const std::uint32_t b : plan_.inputs(member))
      if (ends(b) && b != taken) add(given, b);
    for (std::uint32_t b : given) slots_of(b).give(plan_.buffers[b].offset);
  }

  // ---- Values inside the region ----

  /// Marks the values that the region makes and that nothing else touches: they get slots.
  void count_inside(const std::vector<Instruction>& body) {
    OfBuffers here;
    for (const Instruction& member : body)
      for (const Range range : {member.inputs, member.outputs})
        for (const std::uint32_t b : plan_.operands_of(range)) ++here[b];
    for (const Instruction& member : body) {
      const std::uint32_t out = plan_.outputs(member)[0];
      Buffer& buffer = plan_.buffers[out];
      if (buffer.space == Buffer::Space::step && buffer.view_of == kNone && here[out] == touches_[out] && here[out] > 1)
        buffer.space = Buffer::Space::tile;
    }
  }

  /// The buffer that `b` is a view of, if it is a view of all bytes in another shape; else `b`.
  [[nodiscard]] std::uint32_t whole(std::uint32_t b) const {
    const std::uint32_t of = storage_of(plan_, b);
    return plan_.buffers[of].bytes == plan_.buffers[b].bytes ? of : b;
  }
  [[nodiscard]] bool is_inside(std::uint32_t b) const { return plan_.buffers[b].space == Buffer::Space::tile; }

  ClassPlan& form_;
  PlanClass& plan_;
  const KernelFacts& facts_;
  std::vector<std::uint32_t> touches_;  // of each buffer
};

}  // namespace

bool is_fusable(const ClassPlan& plan, const Instruction& instruction, std::int64_t from) {
  const PlanClass& role = plan.role;
  return is_elementwise(role, instruction, plan.facts) && from > 0 &&
         elements_of(role.buffers[role.outputs(instruction)[0]]) >= from;
}

void fuse_elements(ClassPlan& plan) {
  if (plan.facts.fuse_from > 0 && !plan.facts.elementwise.empty()) ElementFuser(plan).run();
}

}  // namespace ferry
