// The effect of collectives on facts: pending sums are completed, and values get other parts.
#include <algorithm>

#include "base/format.hpp"
#include "plan/equal/walk.hpp"

namespace ferry::equal {
namespace {

bool adds_up(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce;
}

}  // namespace

const std::set<std::uint32_t>& PlanWalk::classes_in(std::uint32_t grouping) {
  const auto [at, fresh] = classes_in_.try_emplace(grouping);
  std::set<std::uint32_t>& all = at->second;
  if (!fresh) return all;
  for (const auto& group : plan_.groupings[grouping])
    for (const std::int32_t task : group) all.insert(plan_.class_of[task]);
  return all;
}

void PlanWalk::join_collective(Class& c, const Instruction& i) {
  const Collective& collective = plan_.collectives[i.collective()];
  OpenCollective& all = open_collectives_[i.collective()];
  if (all.members.contains(c.number) || all.done) throw_difference(c, i, "it takes part twice");
  OpenCollective::Member member{.instruction = &i};
  const auto inputs = c.role->inputs(i), outputs = c.role->outputs(i);
  if (!outputs.empty()) member.out = outputs[0];
  if (!inputs.empty()) {
    member.in = inputs[0];
    if (!c.memory.is_known(member.in))
      throw_difference(c, i, "it gives " + named(c, member.in) + ", which nothing has made before");
    if (adds_up(plan_.schedules[collective.schedule].kind))
      member.pieces = c.memory.pieces(member.in);
    else if (c.role->buffers[member.in].bytes > 0)
      member.fact = read(c, member.in, i);
  }
  all.members.emplace(c.number, std::move(member));
  ++assumptions_.collectives;
}

bool PlanWalk::end_collective(Class& c, const Instruction& i) {
  OpenCollective& all = open_collectives_[i.collective()];
  if (!all.done && all.members.size() < classes_in(plan_.collectives[i.collective()].grouping).size()) return false;
  if (!all.done) complete(all, i.collective());
  const auto member = all.members.find(c.number);
  if (member == all.members.end()) throw_difference(c, i, "it waits for a collective that it has not started");
  const std::uint32_t out = member->second.out;
  if (out == kNone) return true;
  if (has_nothing(c, out)) {
    c.memory.set_empty(out, kNone);
    return true;
  }
  if (const auto fact = all.got.find(c.number); fact != all.got.end())
    write(c, out, fact->second);
  else
    c.memory.set(out, all.sum);
  return true;
}

void PlanWalk::complete(OpenCollective& all, std::uint32_t number) {
  const Collective& collective = plan_.collectives[number];
  if (adds_up(plan_.schedules[collective.schedule].kind))
    complete_sum(all, collective);
  else
    complete_move(all, collective);
  all.done = true;
}

/// Returns the fact without the pending sums that the collective completes. Throws Stop unless each contribution counts
/// exactly once.
Fact PlanWalk::combined(const Fact& fact, const Collective& collective, const Instruction& i) {
  const Schedule& schedule = plan_.schedules[collective.schedule];
  const std::int32_t guest = schedule.guest_root ? schedule.root : -1;
  if (const DType dtype = terms_.type(fact.value.type).dtype; dtype != collective.dtype)
    throw Stop{true, formatted("collective '{}' adds up {} as {}", plan_.string(collective.name), name_of(dtype),
                               name_of(collective.dtype))};
  Fact left = fact;
  left.owed.clear();
  std::vector<std::uint32_t> summed;
  for (const PendingReduction& one : fact.owed) {
    if (one.reduce == collective.reduce && geometry_.is_within(one.grouping, collective.grouping, guest))
      summed.push_back(one.grouping);
    else
      left.owed.push_back(one);
  }
  const bool repeats = collective.reduce == Reduce::max || collective.reduce == Reduce::min;
  if (repeats && summed.empty() &&
      geometry_.same_as_member(collective.grouping, partition_of(fact), guest == 0 ? 1 : 0, partition_of(fact), guest))
    return left;  // the maximum of equal values
  if (!geometry_.sums_exactly(collective.grouping, guest, summed))
    throw Stop{true,
               formatted("collective '{}'{} combines by {} over tasks that do not each have a part to combine: {}",
                         plan_.string(collective.name), as_is(i.line == kNone ? "" : " at " + plan_.line(i.line).str()),
                         name_of(collective.reduce), as_is(terms_.str(fact.value.term)))};
  return left;
}

void PlanWalk::complete_sum(OpenCollective& all, const Collective& collective) {
  const OpenCollective::Member* first = nullptr;
  for (const auto& [number, member] : all.members) {
    if (member.in == kNone) continue;
    if (first == nullptr) first = &member;
    if (member.pieces != first->pieces)
      throw_difference(classes_[number], *member.instruction,
                       "it gives other values to be added up than other members do");
  }
  if (first == nullptr) return;
  all.sum = first->pieces;
  for (HeldPiece& piece : all.sum)
    piece.fact = facts_.number(combined(facts_[piece.fact], collective, *first->instruction));
}

void PlanWalk::complete_move(OpenCollective& all, const Collective& collective) {
  const Schedule& schedule = plan_.schedules[collective.schedule];
  const std::int32_t guest = schedule.guest_root ? schedule.root : -1;
  const std::int64_t parts = schedule.members - (guest >= 0 ? 1 : 0);
  const OpenCollective::Member* first = nullptr;
  std::uint32_t giver = kNone;
  for (const auto& [number, member] : all.members) {
    if (!member.fact) continue;
    if (first == nullptr) {
      first = &member;
      giver = number;
    } else if (member.fact->value != first->fact->value || member.fact->window != first->fact->window ||
               member.fact->owed != first->fact->owed) {
      throw_difference(classes_[number], *member.instruction,
                       "it gives " + terms_.str(member.fact->value.term) + ", and " +
                           described(classes_[giver], *first->instruction) + " gives " +
                           terms_.str(first->fact->value.term) + ", or another part");
    }
  }
  if (first == nullptr) return;
  const Fact& given = *first->fact;
  const auto in_blocks = [&](int dim) {  // whether all members give their blocks along this dim
    return std::ranges::all_of(all.members, [&](const auto& entry) {
      const auto& [number, member] = entry;
      if (!member.fact) return true;
      return member.fact->dim < 0 ? parts_follow(*classes_[number].role, member.in, dim)
                                  : member.fact->dim == dim && member.fact->blocks == parts;
    });
  };
  const auto is_plain = [](const auto& entry) { return !entry.second.fact || entry.second.fact->dim < 0; };
  const bool plain = std::ranges::all_of(all.members, is_plain);
  for (const auto& [number, member] : all.members) {
    if (member.out == kNone) continue;
    Class& c = classes_[number];
    const Instruction& i = *member.instruction;
    Fact got = given;
    got.window = c.role->buffers[member.out].window;
    got.value.type = type(c, member.out);
    if (got.value.type != given.value.type) throw_not_proved(c, i, "it makes a value of another type");
    const Partition before = partition_of(given), after = partition_of(c, member.out);
    const auto in_order = [&, out = member.out](int dim) {  // the parts follow one another
      got.dim = parts_follow(*c.role, out, dim) ? -1 : dim;
      got.blocks = got.dim < 0 ? 0 : parts;
    };
    int dim = -1;
    switch (schedule.kind) {
      case CollectiveKind::broadcast:
        if (!given.owed.empty()) throw_difference(c, i, "it brings one task's part of a sum to all");
        if (!plain || !geometry_.same_as_member(collective.grouping, before, schedule.root, after, guest))
          throw_not_proved(c, i, "it brings a part of a value to tasks that have other parts of it");
        break;
      case CollectiveKind::all_gather:
      case CollectiveKind::gather:
        dim = geometry_.joined_dim(collective.grouping, before, after,
                                   schedule.kind == CollectiveKind::gather ? schedule.root : -1, guest);
        if (dim < 0 || !plain) throw_not_proved(c, i, "its members' parts do not follow each other");
        in_order(dim);
        break;
      case CollectiveKind::scatter:
      case CollectiveKind::reduce_scatter:
        if (schedule.kind == CollectiveKind::reduce_scatter)
          got.owed = combined(given, collective, i).owed;
        else if (!given.owed.empty())
          throw_difference(c, i, "it brings one task's part of a sum to others");
        dim = geometry_.joined_dim(collective.grouping, after, before,
                                   schedule.kind == CollectiveKind::scatter ? schedule.root : -1, guest);
        if (dim < 0) throw_not_proved(c, i, "its members do not get parts that follow each other");
        if (!in_blocks(dim))
          throw_difference(c, i, "the blocks that it cuts are not in the order of the members' parts");
        got.dim = -1;
        got.blocks = 0;
        break;
      case CollectiveKind::all_to_all: {
        if (given.window != kNone && plan_.windows[given.window].has == Window::Has::given) {
          Window wanted = plan_.windows[given.window];
          wanted.has = Window::Has::got;
          if (got.window == kNone || plan_.windows[got.window] != wanted)
            throw_difference(c, i, "it brings rows that are not those given");
          break;
        }
        const auto dims = geometry_.exchanged_dims(collective.grouping, before, after);
        if (!dims) throw_not_proved(c, i, "its members' parts are not those that blocks of them make");
        if (!in_blocks(dims->second))
          throw_difference(c, i, "the blocks that it cuts are not in the order of the members' parts");
        in_order(dims->first);
        break;
      }
      default:
        throw_not_proved(c, i, "its kind is not known");
    }
    all.got.emplace(number, std::move(got));
  }
}

}  // namespace ferry::equal
