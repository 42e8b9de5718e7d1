// Reads buffers: finds the value in a buffer from the pieces that were written into its bytes.
#include <algorithm>

#include "base/text.hpp"
#include "plan/equal/walk.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry::equal {

TypeId PlanWalk::type(Class& c, BufferId buffer) {
  TypeId& known = c.types[buffer];
  if (known == kNone) known = terms_.type(whole_type(plan_, c.role->buffers[buffer]));
  return known;
}

bool PlanWalk::parts_follow(const PlanClass& role, BufferId buffer, std::int64_t dim) {
  const Sizes& sizes = role.buffers[buffer].sizes;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dim) && d < sizes.size(); ++d)
    if (sizes[d] != 1) return false;
  return true;
}

Fact PlanWalk::read(Class& c, BufferId buffer, const Instruction& i) {
  if (c.role->buffers[buffer].bytes == 0) return read_empty(c, buffer, i);
  const Pieces pieces = c.memory.pieces(buffer);
  const auto bytes = static_cast<std::int64_t>(c.role->buffers[buffer].bytes);
  if (pieces.size() == 1 && pieces[0].whole() && pieces[0].begin == 0 && pieces[0].end == bytes)
    return view_as(c, facts_[pieces[0].fact], buffer, i);
  if (!c.memory.is_known(buffer))
    throw_difference(c, i, "it reads " + named(c, buffer) + ", which nothing has made before");
  if (const auto all = joined(c, pieces, buffer)) return *all;
  // The buffer may be a view of a concatenation, and the parts may fit only the shape of another view.
  for (std::uint32_t other = 0; other < c.role->buffers.size(); ++other)
    if (c.memory.same_bytes(other, buffer))
      if (const auto all = joined(c, pieces, other)) return view_as(c, *all, buffer, i);
  throw_not_proved(c, i, "it reads " + named(c, buffer) + ", which was put together from parts of other values");
}

Fact PlanWalk::read_summed(Class& c, BufferId buffer, const Instruction& i) {
  Fact fact = read(c, buffer, i);
  if (!fact.owed.empty())
    throw_difference(c, i,
                     "it uses " + named(c, buffer) + ", each task's part of a sum, before the parts are added up");
  if (fact.dim >= 0 || !(geometry_.is_part(fact.window)))
    throw_not_proved(c, i, "it uses " + named(c, buffer) + ", which holds no value but blocks of one");
  return fact;
}

/// Reads a part without elements, which equals the part of any value. The buffer's name identifies the value.
Fact PlanWalk::read_empty(Class& c, BufferId buffer, const Instruction& i) {
  const Buffer& b = c.role->buffers[buffer];
  const TypeId id = type(c, buffer);
  if (const std::uint32_t known = c.memory.empty(buffer); known != kNone) {
    const Fact& fact = facts_[known];
    if (fact.value.type == id) return fact;
    if (terms_.count(fact.value.type) == terms_.count(id)) return {{fact.value.term, id}, b.window, -1, 0, fact.owed};
  }
  if (terms_.is_empty(id)) return {{terms_.nothing(b.dtype), id}, b.window};
  if (const TypedTerm* const value = named_value(c, buffer);
      value != nullptr && terms_.count(value->type) == terms_.count(id))
    return {{value->term, id}, b.window};
  throw_not_proved(
      c, i, "it reads " + named(c, buffer) + ", a part without elements of a value that the graph does not name");
}

const TypedTerm* PlanWalk::named_value(const Class& c, BufferId buffer) const {
  const std::string_view name = plan_.string(c.role->buffers[buffer].name);
  for (std::size_t f = c.frames.size(); f > 0; --f)
    if (const TypedTerm* const value = graph_.named(c.frames[f - 1].place, name)) return value;
  return nullptr;
}

std::optional<Fact> PlanWalk::part_of_named(Class& c, const Fact& fact, BufferId buffer) {
  const TypedTerm* const whole = named_value(c, buffer);
  const Partition parts = partition_of(c, buffer);
  if (whole == nullptr || whole->type != type(c, buffer) || !geometry_.is_part(parts.window)) return std::nullopt;
  if (fact.window != kNone || fact.dim >= 0 || !fact.owed.empty()) return std::nullopt;
  for (const std::int32_t task : geometry_.tasks_of(c.number)) {
    const std::optional<Box> box = geometry_.box(parts, task);
    if (!box || !is_part_of(fact.value, *whole, *box)) return std::nullopt;
  }
  return Fact{*whole, parts.window};
}

bool PlanWalk::is_part_of(const TypedTerm& part, const TypedTerm& whole, const Box& box) {
  const std::vector<std::int64_t>&own = terms_.sizes(part.type), &all = terms_.sizes(whole.type);
  if (own.size() != box.size()) return false;
  std::optional<std::uint32_t> cut;
  for (std::uint32_t dim = 0; dim < box.size(); ++dim) {
    if (own[dim] != box[dim].size || (cut && box[dim].size != all[dim])) return false;
    if (box[dim].size != all[dim]) cut = dim;
  }
  return cut && terms_.has_part(whole, part, *cut, box[*cut].begin);
}

Fact PlanWalk::view_as(Class& c, const Fact& fact, BufferId buffer, const Instruction& i) {
  const Buffer& b = c.role->buffers[buffer];
  const TypeId id = type(c, buffer);
  if (fact.value.type == id && fact.window == b.window) return fact;
  const Type &from = terms_.type(fact.value.type), &to = terms_.type(id);
  Fact shown = fact;
  shown.value.type = id;
  shown.window = b.window;
  bool same =
      size_of(from.dtype) == size_of(to.dtype) && fact.dim < 0 && terms_.count(fact.value.type) == terms_.count(id);
  if (same && (from.shape.bounded() || to.shape.bounded()))  // only some rows exist, so they must stay the same
    same = from.shape.rank() > 0 && to.shape.rank() > 0 && from.shape[0] == to.shape[0];
  same = same && geometry_.same_elements(c.number, partition_of(fact), partition_of(c, buffer));
  if (same) return shown;
  if (const auto part = part_of_named(c, fact, buffer)) return *part;
  throw_not_proved(c, i,
                   "it reads " + named(c, buffer) + " as " + to.str() + ", and it holds " + from.str() +
                       " in other parts or in another order");
}

std::optional<Fact> PlanWalk::joined(Class& c, const Pieces& pieces, BufferId buffer) {
  const Buffer& b = c.role->buffers[buffer];
  const TypeId id = type(c, buffer);
  const std::vector<std::int64_t>& sizes = terms_.sizes(id);
  if (b.bounded || !geometry_.is_part(b.window)) return std::nullopt;
  const auto splits_of = [&](std::uint32_t window) {
    return window == kNone ? std::vector<SplitDim>() : plan_.windows[window].splits;
  };
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!parts_follow(*c.role, buffer, static_cast<std::int64_t>(d))) break;
    if (std::ranges::any_of(splits_of(b.window), [&](const SplitDim& split) { return split.dim == d; })) continue;
    std::int64_t total = 0;
    std::vector<TypedTerm> values;
    bool fits = true;
    for (const HeldPiece& piece : pieces) {
      const Fact& fact = facts_[piece.fact];
      const std::vector<std::int64_t>& own = terms_.sizes(fact.value.type);
      fits = fits && piece.whole() && fact.dim < 0 && geometry_.is_part(fact.window) &&
             fact.owed == facts_[pieces[0].fact].owed && own.size() == sizes.size() &&
             splits_of(fact.window) == splits_of(b.window) && terms_.type(fact.value.type).dtype == b.dtype;
      if (!fits) break;
      for (std::size_t e = 0; e < sizes.size(); ++e) fits = fits && (e == d || own[e] == sizes[e]);
      total += own[d];
      values.push_back(fact.value);
    }
    if (!fits || total != sizes[d]) continue;
    return Fact{
        {terms_.joined(static_cast<std::uint32_t>(d), values, id), id}, b.window, -1, 0, facts_[pieces[0].fact].owed};
  }
  return std::nullopt;
}

}  // namespace ferry::equal
