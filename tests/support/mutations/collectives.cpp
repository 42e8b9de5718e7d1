// Mutations of collectives: of their members, parts, dtypes, staging and order.
#include <algorithm>
#include <set>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

bool drop_collective(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::collective);
}

bool drop_collective_wait(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::collective_wait);
}

/// One class runs two collectives in another order than the other classes do.
bool reorder_collectives(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, At>> pairs;
  const std::vector<At> all = all_of(plan, Opcode::collective);
  for (const At& a : all)
    for (const At& b : all) {
      if (a.plan_class != b.plan_class || a.index >= b.index || a.in(plan).target == b.in(plan).target) continue;
      if (region_of(a.of(plan), a.index) != region_of(a.of(plan), b.index)) continue;
      std::set<std::uint32_t> both;
      const auto first = classes_in(plan, plan.collectives[a.in(plan).target]);
      const auto second = classes_in(plan, plan.collectives[b.in(plan).target]);
      std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::inserter(both, both.end()));
      if (both.size() > 1) pairs.emplace_back(a, b);
    }
  const auto* pair = one_of(pairs, dice);
  if (pair != nullptr) std::swap(pair->first.in(plan), pair->second.in(plan));
  return pair != nullptr;
}

bool wrong_parts(Plan& plan, Dice& dice) {
  const std::vector<std::size_t> all = collectives(plan, [](const Collective& c) { return !c.parts.empty(); });
  const std::size_t* k = one_of(all, dice);
  if (k == nullptr) return false;
  std::int64_t& part = plan.collectives[*k].parts[dice.below(plan.collectives[*k].parts.size())];
  part += part > 0 && dice.one_in(2) ? -1 : 1;
  return true;
}
bool wrong_collective_dtype(Plan& plan, Dice& dice) {
  const std::vector<std::size_t> all = collectives(plan, [](const Collective& c) { return c.dtype == DType::float32; });
  const std::size_t* k = one_of(all, dice);
  if (k != nullptr) plan.collectives[*k].dtype = dice.one_in(2) ? DType::int32 : DType::float64;
  return k != nullptr;
}
bool no_sum(Plan& plan, Dice& dice) {
  const std::vector<std::size_t> all = collectives(plan, [](const Collective&) { return true; });
  const std::size_t* k = one_of(all, dice);
  if (k == nullptr) return false;
  Reduce& reduce = plan.collectives[*k].reduce;
  reduce = reduce == Reduce::none ? Reduce::sum : Reduce::none;
  return true;
}
bool smaller_staging(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [&](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::collective && i.scratch != kNone && c.buffers[i.scratch].bytes >= 64;
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  Buffer& scratch = at->of(plan).buffers[at->in(plan).scratch];
  scratch.bytes -= 64;
  scratch.sizes = {static_cast<std::int64_t>(scratch.bytes)};
  return true;
}
bool no_staging(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [&](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::collective && i.scratch != kNone && c.buffers[i.scratch].bytes > 0;
  });
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).scratch = kNone;
  return at != nullptr;
}
/// Members of two groups are exchanged, where the groups have different parts of a value.
bool wrong_member(Plan& plan, Dice& dice) {
  std::vector<At> all = all_of(plan, Opcode::collective);
  std::erase_if(all, [&](const At& at) {
    const Instruction& i = at.in(plan);
    const Collective& collective = plan.collectives[i.collective()];
    const auto& groups = plan.groupings[collective.grouping];
    if (groups.size() < 2 || groups[0].size() < 2 || i.inputs.count == 0) return true;
    return at.of(plan).buffers[operand(at.of(plan), i.inputs, 0)].window == kNone;
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  Collective& collective = plan.collectives[at->in(plan).target];
  Grouping changed = plan.groupings[collective.grouping];
  std::swap(changed[0].back(), changed[1].back());
  plan.groupings.push_back(std::move(changed));
  collective.grouping = static_cast<std::uint32_t>(plan.groupings.size() - 1);
  return true;
}
/// The members of a collective that joins or cuts a value come in another order than its parts.
bool wrong_member_order(Plan& plan, Dice& dice) {
  const std::vector<std::size_t> all = collectives(plan, [&](const Collective& c) {
    const Schedule& s = plan.schedules[c.schedule];
    const bool cuts = s.kind == CollectiveKind::gather || s.kind == CollectiveKind::all_gather ||
                      s.kind == CollectiveKind::scatter || s.kind == CollectiveKind::reduce_scatter;
    return cuts && s.members - (s.guest_root ? 1 : 0) > 1 && c.parts[0] > 0 && c.parts[1] > 0;
  });
  const std::size_t* k = one_of(all, dice);
  if (k == nullptr) return false;
  Grouping changed = plan.groupings[plan.collectives[*k].grouping];
  for (auto& group : changed) std::swap(group[0], group[1]);
  plan.groupings.push_back(std::move(changed));
  plan.collectives[*k].grouping = static_cast<std::uint32_t>(plan.groupings.size() - 1);
  return true;
}

constexpr Mutation kCollectiveMutations[] = {
    {"dropped collective", drop_collective},
    {"dropped collective_wait", drop_collective_wait},
    {"reordered collectives", reorder_collectives},
    {"wrong parts", wrong_parts},
    {"wrong collective dtype", wrong_collective_dtype},
    {"no sum, or one too many", no_sum},
    {"smaller staging", smaller_staging},
    {"no staging", no_staging},
    {"wrong member", wrong_member},
    {"members in the wrong order", wrong_member_order},
};

}  // namespace

std::span<const Mutation> collective_mutations() {
  return kCollectiveMutations;
}

}  // namespace ferry::test
