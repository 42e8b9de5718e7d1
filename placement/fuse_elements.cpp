#include "placement/fuse_elements.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/strands.hpp"

namespace ferry {
namespace {

using Storages = std::vector<std::uint32_t>;
using OfBuffers = std::unordered_map<std::uint32_t, std::uint32_t>;

/// Instructions between two that are joined, at most.
constexpr std::size_t kReach = 64;
/// Elements of a tile: at most, and a multiple of this where there is room for as many.
constexpr std::int64_t kMostElements = 4096, kLine = 64;

bool meet(const Storages& a, const Storages& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t s) { return std::find(b.begin(), b.end(), s) != b.end(); });
}

void add(Storages& to, const Storages& more) {
  for (std::uint32_t s : more)
    if (std::find(to.begin(), to.end(), s) == to.end()) to.push_back(s);
}

std::int64_t elements_of(const Buffer& buffer) {
  return static_cast<std::int64_t>(buffer.bytes / size_of(buffer.dtype));
}

/// One instruction of a list, or several that have been joined.
struct Group {
  std::vector<std::uint32_t> members;  ///< places in the list, ascending; none: it is part of another one now
  Storages reads, writes;
  Storages whole;             ///< of `reads`: what has as many elements as the result
  std::int64_t elements = 0;  ///< 0: it cannot be joined
  std::uint32_t device = 0;

  [[nodiscard]] bool conflicts(const Group& other) const {
    return meet(writes, other.reads) || meet(writes, other.writes) || meet(reads, other.writes);
  }
  [[nodiscard]] bool joins(const Group& later) const {
    return elements > 0 && elements == later.elements && device == later.device &&
           members.size() + later.members.size() <= kTileKernels &&
           (meet(writes, later.whole) || meet(whole, later.whole));
  }
  void take(Group& other) {
    const auto middle = members.insert(members.end(), other.members.begin(), other.members.end());
    std::inplace_merge(members.begin(), middle, members.end());
    other.members.clear();
    add(reads, other.reads);
    add(writes, other.writes);
    add(whole, other.whole);
  }
};

/// The slots of a tile region, in bytes for each element of a tile.
class Slots {
 public:
  /// A free place for `bytes`, a multiple of them.
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
  ElementFuser(PlanClass& plan, RegionLists& lists, PlanTables& tables, const Fusable& what)
      : plan_(plan), lists_(lists), tables_(tables), what_(what) {}

  void run() {
    const auto regions = static_cast<std::uint32_t>(lists_.regions());
    for (std::uint32_t r = 0; r < regions; ++r) {
      const auto& list = lists_.list(r);
      const auto can = [&](const Instruction& i) { return is_fusable(plan_, i, what_); };
      if (std::count_if(list.begin(), list.end(), can) < 2) continue;
      if (touches_.empty()) count_touches(regions);
      fuse(r);
    }
  }

 private:
  // ---- Groups ----

  void fuse(std::uint32_t region) {
    const std::vector<Instruction> list = std::move(lists_.list(region));
    std::vector<Group> groups;
    std::size_t barrier = 0;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      groups.push_back(group_of(list[i], i));
      if (list[i].what != Do::kernel && list[i].what != Do::copy && list[i].what != Do::tiles) barrier = groups.size();
      if (groups.back().elements > 0) join(groups, barrier);
    }
    std::vector<Instruction> fused;
    fused.reserve(list.size());
    for (const Group& group : groups) {
      if (group.members.size() == 1) fused.push_back(list[group.members[0]]);
      if (group.members.size() > 1) fused.push_back(make(list, group.members));
    }
    lists_.list(region) = std::move(fused);
  }

  Group group_of(const Instruction& instruction, std::uint32_t place) const {
    Group group;
    group.members = {place};
    each(instruction.outputs, [&](std::uint32_t b, std::uint32_t) { add(group.writes, {storage_of(plan_, b)}); });
    if (instruction.scratch != kNone) add(group.writes, {instruction.scratch});
    if (is_fusable(plan_, instruction, what_)) {
      const Buffer& out = plan_.buffers[plan_.operands[instruction.outputs.begin]];
      group.elements = elements_of(out);
      group.device = out.device;
    }
    each(instruction.inputs, [&](std::uint32_t b, std::uint32_t) {
      add(group.reads, {storage_of(plan_, b)});
      if (elements_of(plan_.buffers[b]) == group.elements) add(group.whole, {storage_of(plan_, b)});
    });
    return group;
  }

  /// Joins the last group with those before it, one after another.
  static void join(std::vector<Group>& groups, std::size_t barrier) {
    for (std::size_t at = groups.size() - 1;;) {
      const std::size_t joined = join_one(groups, std::max(barrier, at < kReach ? 0 : at - kReach), at);
      if (joined == groups.size()) return;
      at = joined;
    }
  }

  /// Where the group at `at` stands after it has been joined with one from `first` on; the number of groups: it was
  /// not.
  static std::size_t join_one(std::vector<Group>& groups, std::size_t first, std::size_t at) {
    for (std::size_t before = at; before-- > first;) {
      if (groups[before].members.empty() || !groups[before].joins(groups[at])) continue;
      const auto free = [&](const Group& moved) {
        for (std::size_t between = before + 1; between < at; ++between)
          if (!groups[between].members.empty() && groups[between].conflicts(moved)) return false;
        return true;
      };
      const bool later = free(groups[before]);
      if (!later && !free(groups[at])) continue;
      const std::size_t place = later ? at : before;
      groups[place].take(groups[later ? before : at]);
      return place;
    }
    return groups.size();
  }

  // ---- Tile regions ----

  Instruction make(const std::vector<Instruction>& list, const std::vector<std::uint32_t>& members) {
    const std::uint32_t region = lists_.add(Region::Kind::tile);
    std::vector<Instruction>& body = lists_.list(region);
    for (std::uint32_t m : members) body.push_back(list[m]);
    for (Instruction& member : body) member.thread = 0;
    Instruction tiles = body.back();
    tiles.what = Do::tiles;
    tiles.attrs = kNone;
    tiles.in_place = 0;
    tiles.op = tables_.string(ops_of(body));
    tiles.target = region;
    tiles.other = static_cast<std::uint32_t>(place(body));
    Storages in, out;
    for (const Instruction& member : body) {
      each(member.inputs, [&](std::uint32_t b, std::uint32_t) {
        if (!is_inside(b) && std::find(out.begin(), out.end(), whole(b)) == out.end()) add(in, {b});
      });
      each(member.outputs, [&](std::uint32_t b, std::uint32_t) {
        if (!is_inside(b)) add(out, {whole(b)});
      });
    }
    tiles.inputs = operands(in);
    tiles.outputs = operands(out);
    return tiles;
  }

  /// "Mul+Add"; of many the first ones.
  std::string ops_of(const std::vector<Instruction>& body) const {
    constexpr std::size_t kShown = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(body.size(), kShown); ++i)
      text.append(i == 0 ? "" : "+").append(tables_.text(body[i].op));
    return body.size() > kShown ? text + "+" + std::to_string(body.size() - kShown) + " more" : text;
  }

  /// Gives a slot to each value that is used inside alone. The elements of a tile.
  std::int64_t place(const std::vector<Instruction>& body) {
    OfBuffers last;  // the last member that touches a buffer
    Storages outside, inside;
    std::uint64_t outside_bytes = 0;
    count_inside(body);
    for (std::uint32_t m = 0; m < body.size(); ++m)
      for (const Range range : {body[m].inputs, body[m].outputs})
        each(range, [&](std::uint32_t b, std::uint32_t) {
          last[b] = m;
          Storages& seen = is_inside(b) ? inside : outside;
          if (std::find(seen.begin(), seen.end(), b) != seen.end()) return;
          seen.push_back(b);
          if (&seen == &outside) outside_bytes += size_of(plan_.buffers[b].dtype);
        });
    Slots slots;
    for (std::uint32_t m = 0; m < body.size(); ++m) place_output(body[m], m, last, slots);
    const std::uint64_t bytes = slots.bytes() + outside_bytes;
    const auto room = static_cast<std::int64_t>(kTileBytes / bytes) / kLine * kLine;
    const std::int64_t tile = std::max(kLine, std::min(room, kMostElements));
    const std::int64_t used = std::min(tile, std::max<std::int64_t>(1, what_.from / 2));  // two tiles at least
    for (std::uint32_t b : inside) plan_.buffers[b].offset *= static_cast<std::uint64_t>(used);
    return used;
  }

  /// Its slot may be that of an input which is not needed any more.
  void place_output(const Instruction& member, std::uint32_t m, const OfBuffers& last, Slots& slots) {
    const std::uint32_t out = plan_.operands[member.outputs.begin];
    const std::uint64_t bytes = size_of(plan_.buffers[out].dtype);
    std::uint32_t taken = kNone;
    const auto ends = [&](std::uint32_t b) { return is_inside(b) && last.at(b) == m && b != out; };
    if (is_inside(out)) {
      each(member.inputs, [&](std::uint32_t b, std::uint32_t k) {
        const bool may = k < 32 && (member.in_place >> k & 1U) != 0 && size_of(plan_.buffers[b].dtype) == bytes;
        if (taken == kNone && may && ends(b)) taken = b;
      });
      plan_.buffers[out].offset = taken == kNone ? slots.take(bytes) : plan_.buffers[taken].offset;
    }
    Storages given;
    each(member.inputs, [&](std::uint32_t b, std::uint32_t) {
      if (ends(b) && b != taken) add(given, {b});
    });
    for (std::uint32_t b : given) slots.give(plan_.buffers[b].offset);
  }

  // ---- What is inside ----

  void count_touches(std::uint32_t regions) {
    touches_.assign(plan_.buffers.size(), 0);
    for (std::uint32_t r = 0; r < regions; ++r)
      for (const Instruction& i : lists_.list(r))
        for (const Range range : {i.inputs, i.outputs})
          each(range, [&](std::uint32_t b, std::uint32_t) { ++touches_[b]; });
    for (const Buffer& buffer : plan_.buffers)
      if (buffer.view_of != kNone) ++touches_[buffer.view_of];
  }

  /// Moves what the region makes and nobody else touches into its slots.
  void count_inside(const std::vector<Instruction>& body) {
    OfBuffers here;
    for (const Instruction& member : body)
      for (const Range range : {member.inputs, member.outputs})
        each(range, [&](std::uint32_t b, std::uint32_t) { ++here[b]; });
    for (const Instruction& member : body) {
      const std::uint32_t out = plan_.operands[member.outputs.begin];
      Buffer& buffer = plan_.buffers[out];
      if (buffer.space == Buffer::Space::step && buffer.view_of == kNone && here[out] == touches_[out] && here[out] > 1)
        buffer.space = Buffer::Space::tile;
    }
  }

  /// The buffer of which this one is another shape; itself when it is none, or only a part of one.
  [[nodiscard]] std::uint32_t whole(std::uint32_t b) const {
    const std::uint32_t of = storage_of(plan_, b);
    return plan_.buffers[of].bytes == plan_.buffers[b].bytes ? of : b;
  }
  [[nodiscard]] bool is_inside(std::uint32_t b) const { return plan_.buffers[b].space == Buffer::Space::tile; }

  // ---- Operands ----

  template <class F>
  void each(Range range, F f) const {
    for (std::uint32_t k = 0; k < range.count; ++k) f(plan_.operands[range.begin + k], k);
  }

  Range operands(const Storages& buffers) {
    const auto begin = static_cast<std::uint32_t>(plan_.operands.size());
    plan_.operands.insert(plan_.operands.end(), buffers.begin(), buffers.end());
    return {begin, static_cast<std::uint32_t>(buffers.size())};
  }

  PlanClass& plan_;
  RegionLists& lists_;
  PlanTables& tables_;
  const Fusable& what_;
  std::vector<std::uint32_t> touches_;  // of each buffer: by all instructions, and views of it
};

}  // namespace

bool is_fusable(const PlanClass& plan, const Instruction& instruction, const Fusable& what) {
  if (instruction.what != Do::kernel || instruction.thread != kAnyThread || !what.ops.contains(instruction.op) ||
      instruction.outputs.count != 1 || instruction.inputs.count > kTileInputs || instruction.scratch != kNone)
    return false;
  const auto plain = [&](std::uint32_t b) {
    return !plan.buffers[b].bounded && plan.buffers[b].space != Buffer::Space::none;
  };
  for (std::uint32_t k = 0; k < instruction.inputs.count; ++k)
    if (!plain(plan.operands[instruction.inputs.begin + k])) return false;
  const std::uint32_t out = plan.operands[instruction.outputs.begin];
  return plain(out) && what.from > 0 && elements_of(plan.buffers[out]) >= what.from;
}

void fuse_elements(PlanClass& plan, RegionLists& lists, PlanTables& tables, const Fusable& what) {
  if (what.from > 0 && !what.ops.empty()) ElementFuser(plan, lists, tables, what).run();
}

}  // namespace ferry
