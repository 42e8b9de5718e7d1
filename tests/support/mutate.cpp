#include "tests/support/mutate.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace ferry::test {
namespace {

// ---- Places ----

/// An instruction: its class and its index in the class's list.
struct At {
  std::size_t plan_class = 0, index = 0;
  [[nodiscard]] PlanClass& of(Plan& plan) const { return plan.classes[plan_class]; }
  [[nodiscard]] Instruction& in(Plan& plan) const { return plan.classes[plan_class].instructions[index]; }
};

using Wanted = std::function<bool(const PlanClass&, const Instruction&)>;

std::vector<At> all_of(const Plan& plan, const Wanted& wanted) {
  std::vector<At> found;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (std::size_t i = 0; i < plan.classes[c].instructions.size(); ++i)
      if (wanted(plan.classes[c], plan.classes[c].instructions[i])) found.push_back({c, i});
  return found;
}

std::vector<At> all_of(const Plan& plan, Do what) {
  return all_of(plan, [what](const PlanClass&, const Instruction& i) { return i.what == what; });
}

template <class T>
const T* one_of(const std::vector<T>& all, Dice& dice) {
  return all.empty() ? nullptr : &all[dice.below(all.size())];
}

std::uint32_t operand(const PlanClass& c, Range range, std::uint32_t k) {
  return c.operands[range.begin + k];
}

std::size_t region_of(const PlanClass& c, std::size_t index) {
  for (std::size_t r = 0; r < c.regions.size(); ++r) {
    const Range range = c.regions[r].instructions;
    if (index >= range.begin && index < range.begin + range.count) return r;
  }
  return 0;
}

void drop(Plan& plan, At at) {
  PlanClass& c = at.of(plan);
  const std::size_t region = region_of(c, at.index);
  c.instructions.erase(c.instructions.begin() + static_cast<std::ptrdiff_t>(at.index));
  --c.regions[region].instructions.count;
  for (std::size_t r = 0; r < c.regions.size(); ++r)
    if (r != region && c.regions[r].instructions.begin > at.index) --c.regions[r].instructions.begin;
}

bool drop_one(Plan& plan, Dice& dice, Do what) {
  const std::vector<At> all = all_of(plan, what);
  const At* at = one_of(all, dice);
  if (at != nullptr) drop(plan, *at);
  return at != nullptr;
}

/// Moves an instruction to `to` within its region.
void move(PlanClass& c, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return c.instructions.begin() + static_cast<std::ptrdiff_t>(i); };
  if (from < to)
    std::rotate(at(from), at(from) + 1, at(to) + 1);
  else
    std::rotate(at(to), at(from), at(from) + 1);
}

std::uint32_t storage(const PlanClass& c, std::uint32_t b) {
  return c.buffers[b].view_of == kNone ? b : c.buffers[b].view_of;
}

/// Puts buffer `b` and its views at another place.
void place(PlanClass& c, std::uint32_t b, std::uint64_t offset) {
  const std::uint32_t root = storage(c, b);
  for (std::uint32_t other = 0; other < c.buffers.size(); ++other)
    if (storage(c, other) == root) c.buffers[other].offset = offset;
}

bool in_step(const Buffer& b) {
  return b.space == Buffer::Space::step && b.bytes > 0 && !b.bounded;
}

bool of_one_arena(const PlanClass& c, std::uint32_t a, std::uint32_t b) {
  return in_step(c.buffers[a]) && in_step(c.buffers[b]) && c.buffers[a].device == c.buffers[b].device &&
         storage(c, a) != storage(c, b);
}

/// Collectives whose schedule moves something.
std::vector<std::size_t> collectives(const Plan& plan, const std::function<bool(const Collective&)>& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < plan.collectives.size(); ++k)
    if (plan.schedules[plan.collectives[k].schedule].members > 1 && wanted(plan.collectives[k])) found.push_back(k);
  return found;
}

std::set<std::uint32_t> classes_in(const Plan& plan, const Collective& collective) {
  std::set<std::uint32_t> classes;
  for (const auto& group : plan.groupings[collective.grouping])
    for (std::int32_t task : group) classes.insert(plan.class_of[static_cast<std::size_t>(task)]);
  return classes;
}

/// A schedule in use, all for itself: others that use it keep theirs.
Schedule* own_schedule(Plan& plan, Dice& dice, const std::function<bool(const Schedule&)>& wanted) {
  const std::vector<std::size_t> all =
      collectives(plan, [&](const Collective& collective) { return wanted(plan.schedules[collective.schedule]); });
  const std::size_t* k = one_of(all, dice);
  if (k == nullptr) return nullptr;
  plan.schedules.push_back(plan.schedules[plan.collectives[*k].schedule]);
  plan.collectives[*k].schedule = static_cast<std::uint32_t>(plan.schedules.size() - 1);
  return &plan.schedules.back();
}

std::vector<std::size_t> steps_of(const Schedule& s, const std::function<bool(const ScheduleStep&)>& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < s.steps.size(); ++k)
    if (wanted(s.steps[k])) found.push_back(k);
  return found;
}

using Step = ScheduleStep::Kind;

bool moves(const ScheduleStep& step) {
  return step.kind != Step::wait && step.kind != Step::wait_sends && step.kind != Step::copy && step.kind != Step::fold;
}

bool has_root(const Schedule& s) {
  return s.kind == CollectiveKind::broadcast || s.kind == CollectiveKind::scatter || s.kind == CollectiveKind::gather ||
         s.kind == CollectiveKind::reduce;
}

bool any(const Schedule&) {
  return true;
}

/// A step of the schedule that `wanted` accepts, in a schedule of its own.
std::pair<Schedule*, std::size_t> a_step(Plan& plan, Dice& dice,
                                         const std::function<bool(const ScheduleStep&)>& wanted) {
  Schedule* schedule = own_schedule(plan, dice, [&](const Schedule& s) { return !steps_of(s, wanted).empty(); });
  if (schedule == nullptr) return {};
  const std::vector<std::size_t> steps = steps_of(*schedule, wanted);
  return {schedule, *one_of(steps, dice)};
}

bool drop_step(Plan& plan, Dice& dice, const std::function<bool(const ScheduleStep&)>& wanted) {
  const auto [schedule, k] = a_step(plan, dice, wanted);
  if (schedule != nullptr) schedule->steps.erase(schedule->steps.begin() + static_cast<std::ptrdiff_t>(k));
  return schedule != nullptr;
}

DType other_dtype(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return DType::int32;
    case DType::int32:
      return DType::float32;
    case DType::float64:
      return DType::int64;
    case DType::int64:
      return DType::float64;
    case DType::boolean:
      return DType::uint8;
    case DType::uint8:
      return DType::boolean;
  }
  return dtype;
}

// ---- Channels and their instructions ----

/// Two sends of one class exchange their channels: each sends the other's value.
bool swap_sends(Plan& plan, Dice& dice) {
  const std::vector<At> sends = all_of(plan, Do::send);
  std::vector<std::pair<At, At>> pairs;
  for (const At& a : sends)
    for (const At& b : sends)
      if (a.plan_class == b.plan_class && a.index < b.index &&
          operand(a.of(plan), a.in(plan).inputs, 0) != operand(b.of(plan), b.in(plan).inputs, 0))
        pairs.emplace_back(a, b);
  const auto* pair = one_of(pairs, dice);
  if (pair != nullptr) std::swap(pair->first.in(plan).target, pair->second.in(plan).target);
  return pair != nullptr;
}

bool drop_send(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::send);
}
bool drop_send_wait(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::send_wait);
}
bool drop_receive(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::receive);
}
bool drop_receive_wait(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::receive_wait);
}

/// A wait comes before what it waits for was started.
bool early_wait(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const Do what : {Do::send_wait, Do::receive_wait})
    for (const At& wait : all_of(plan, what))
      for (std::size_t k = 0; k < wait.index; ++k) {
        const Instruction& start = wait.of(plan).instructions[k];
        if (start.what == (what == Do::send_wait ? Do::send : Do::receive) && start.target == wait.in(plan).target)
          moves.emplace_back(wait, k);
      }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}

/// A received value is used before it was waited for.
bool late_receive_wait(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const At& wait : all_of(plan, Do::receive_wait)) {
    const PlanClass& c = wait.of(plan);
    const std::uint32_t buffer = storage(c, operand(c, wait.in(plan).outputs, 0));
    const Range range = c.regions[region_of(c, wait.index)].instructions;
    if (c.buffers[buffer].bytes == 0) continue;
    for (std::size_t k = wait.index + 1; k < range.begin + range.count; ++k) {
      const Instruction& i = c.instructions[k];
      bool reads = false;
      for (std::uint32_t n = 0; n < i.inputs.count; ++n) reads = reads || storage(c, operand(c, i.inputs, n)) == buffer;
      if (reads && i.what != Do::loop) moves.emplace_back(wait, k);
    }
  }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}

Channel* a_channel(Plan& plan, Dice& dice) {
  return plan.channels.empty() ? nullptr : &plan.channels[dice.below(plan.channels.size())];
}

bool wrong_sender(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->from = (channel->from + 1) % plan.topology.size();
  return channel != nullptr;
}
bool wrong_receiver(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->to = (channel->to + 1) % plan.topology.size();
  return channel != nullptr;
}
bool wrong_channel_size(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr)
    channel->bytes = dice.one_in(2) && channel->bytes > 0 ? channel->bytes - 1 : channel->bytes + 4;
  return channel != nullptr;
}
bool wrong_channel_dtype(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->dtype = other_dtype(channel->dtype);
  return channel != nullptr;
}
bool no_slots(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->slots = 0;
  return channel != nullptr;
}
bool one_channel_for_two(Plan& plan, Dice& dice) {
  const std::vector<At> sends = all_of(plan, Do::send);
  const At* at = one_of(sends, dice);
  if (at == nullptr || plan.channels.size() < 2) return false;
  at->in(plan).target = (at->in(plan).target + 1) % static_cast<std::uint32_t>(plan.channels.size());
  return true;
}
/// An end of a channel gets another buffer than its wait.
bool other_buffer(Plan& plan, Dice& dice) {
  const std::vector<At> waits = all_of(plan, dice.one_in(2) ? Do::send_wait : Do::receive_wait);
  const At* at = one_of(waits, dice);
  if (at == nullptr || at->of(plan).buffers.size() < 2) return false;
  const Range range = at->in(plan).inputs.count > 0 ? at->in(plan).inputs : at->in(plan).outputs;
  std::uint32_t& buffer = at->of(plan).operands[range.begin];
  buffer = (buffer + 1) % static_cast<std::uint32_t>(at->of(plan).buffers.size());
  return true;
}

// ---- Collectives ----

bool drop_collective(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::collective);
}

/// One class comes to two collectives in another order than the others do.
bool reorder_collectives(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, At>> pairs;
  const std::vector<At> all = all_of(plan, Do::collective);
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
    return i.what == Do::collective && i.scratch != kNone && c.buffers[i.scratch].bytes >= 64;
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
    return i.what == Do::collective && i.scratch != kNone && c.buffers[i.scratch].bytes > 0;
  });
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).scratch = kNone;
  return at != nullptr;
}
/// Members of two groups are exchanged, where the groups have different parts of a value.
bool wrong_member(Plan& plan, Dice& dice) {
  std::vector<At> all = all_of(plan, Do::collective);
  std::erase_if(all, [&](const At& at) {
    const Instruction& i = at.in(plan);
    const Collective& collective = plan.collectives[i.target];
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

// ---- Schedules ----

bool drop_message_step(Plan& plan, Dice& dice) {
  return drop_step(plan, dice, moves);
}
bool drop_copy_or_fold(Plan& plan, Dice& dice) {
  return drop_step(plan, dice, [](const ScheduleStep& s) { return s.kind == Step::copy || s.kind == Step::fold; });
}
bool fold_twice(Plan& plan, Dice& dice) {
  const auto [schedule, k] = a_step(plan, dice, [](const ScheduleStep& s) { return s.kind == Step::fold; });
  if (schedule != nullptr)
    schedule->steps.insert(schedule->steps.begin() + static_cast<std::ptrdiff_t>(k), schedule->steps[k]);
  return schedule != nullptr;
}
/// What has not arrived is folded.
bool fold_before_wait(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, [](const Schedule& s) {
    return s.slots > 0 && !steps_of(s, [](const ScheduleStep& step) { return step.kind == Step::wait; }).empty();
  });
  if (schedule == nullptr) return false;
  const auto wait = std::find_if(schedule->steps.begin(), schedule->steps.end(),
                                 [](const ScheduleStep& step) { return step.kind == Step::wait; });
  schedule->steps.erase(wait);
  return true;
}
bool wrong_peer(Plan& plan, Dice& dice) {
  const auto [schedule, k] = a_step(plan, dice, moves);
  if (schedule != nullptr) {
    MemberRef& peer = schedule->steps[k].peer;
    peer.value = (peer.value + 1) % schedule->members;
  }
  return schedule != nullptr;
}
bool wrong_part(Plan& plan, Dice& dice) {
  const auto [schedule, k] = a_step(
      plan, dice, [](const ScheduleStep& step) { return step.kind != Step::wait && step.kind != Step::wait_sends; });
  if (schedule != nullptr) {
    MemberRef& part = schedule->steps[k].part;
    part.value = (part.value + 1) % schedule->members;
  }
  return schedule != nullptr;
}
bool wrong_root(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, has_root);
  if (schedule != nullptr) schedule->root = (schedule->root + 1) % schedule->members;
  return schedule != nullptr;
}
bool fewer_slots(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, [](const Schedule& s) { return s.slots > 0; });
  if (schedule != nullptr) --schedule->slots;
  return schedule != nullptr;
}
bool wrong_members(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, any);
  if (schedule != nullptr) ++schedule->members;
  return schedule != nullptr;
}
bool wrong_kind(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, any);
  if (schedule == nullptr) return false;
  schedule->kind = static_cast<CollectiveKind>((static_cast<int>(schedule->kind) + 1 + dice.below(7)) % 8);
  return true;
}

// ---- Memory ----

/// Two inputs of one instruction get the same bytes.
bool overlap_inputs(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (const Instruction& i : plan.classes[c].instructions)
      for (std::uint32_t k = 1; k < i.inputs.count; ++k) {
        const std::uint32_t a = operand(plan.classes[c], i.inputs, 0), b = operand(plan.classes[c], i.inputs, k);
        if (of_one_arena(plan.classes[c], a, b)) pairs.emplace_back(c, a, b);
      }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}
/// An output is written over an input that the instruction must not write over.
bool overlap_output(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (const Instruction& i : plan.classes[c].instructions) {
      if (i.what == Do::copy || i.what == Do::loop || i.what == Do::branch) continue;
      for (std::uint32_t k = 0; k < i.inputs.count && i.outputs.count > 0; ++k) {
        const std::uint32_t in = operand(plan.classes[c], i.inputs, k), out = operand(plan.classes[c], i.outputs, 0);
        if (of_one_arena(plan.classes[c], in, out) && (i.in_place >> k & 1U) == 0) pairs.emplace_back(c, in, out);
      }
    }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}
bool smaller_arena(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  for (Buffer& b : c.buffers) {
    if (!in_step(b)) continue;
    c.devices[b.device].step_bytes = b.offset + b.bytes - 1;
    return true;
  }
  return false;
}
bool misplaced_view(Plan& plan, Dice& dice) {
  std::vector<Buffer*> views;
  for (PlanClass& c : plan.classes)
    for (Buffer& b : c.buffers)
      if (b.view_of != kNone && b.bytes > 0) views.push_back(&b);
  Buffer* const* view = one_of(views, dice);
  if (view != nullptr) (*view)->offset += 64;
  return view != nullptr;
}
/// An instruction comes before the one that makes its input.
bool use_before_making(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const At& user : all_of(plan, Do::kernel)) {
    const PlanClass& c = user.of(plan);
    const Range range = c.regions[region_of(c, user.index)].instructions;
    for (std::size_t k = range.begin; k < user.index; ++k) {
      const Instruction& maker = c.instructions[k];
      if (maker.what != Do::kernel || maker.outputs.count != 1) continue;
      const std::uint32_t made = storage(c, operand(c, maker.outputs, 0));
      bool reads = false, written_before = false;
      for (std::uint32_t n = 0; n < user.in(plan).inputs.count; ++n)
        reads = reads || storage(c, operand(c, user.in(plan).inputs, n)) == made;
      for (std::size_t other = 0; other < c.instructions.size(); ++other)
        for (std::uint32_t n = 0; n < c.instructions[other].outputs.count; ++n)
          written_before =
              written_before || (other != k && storage(c, operand(c, c.instructions[other].outputs, n)) == made);
      if (reads && !written_before && in_step(c.buffers[made])) moves.emplace_back(user, k);
    }
  }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}
bool drop_maker(Plan& plan, Dice& dice) {
  std::vector<At> makers;
  for (const At& at : all_of(plan, Do::kernel)) {
    const PlanClass& c = at.of(plan);
    const Instruction& maker = at.in(plan);
    if (maker.outputs.count != 1) continue;
    const std::uint32_t made = storage(c, operand(c, maker.outputs, 0));
    std::size_t reads = 0, writes = 0;
    for (const Instruction& i : c.instructions) {
      for (std::uint32_t n = 0; n < i.inputs.count; ++n) reads += storage(c, operand(c, i.inputs, n)) == made ? 1 : 0;
      for (std::uint32_t n = 0; n < i.outputs.count; ++n)
        writes += storage(c, operand(c, i.outputs, n)) == made ? 1 : 0;
    }
    const bool is_variable =
        std::any_of(c.variables.begin(), c.variables.end(), [&](const PlanVariable& v) { return v.buffer == made; });
    if (reads > 0 && writes == 1 && !is_variable && c.buffers[made].bytes > 0 &&
        c.buffers[made].space != Buffer::Space::none)
      makers.push_back(at);
  }
  const At* at = one_of(makers, dice);
  if (at != nullptr) drop(plan, *at);
  return at != nullptr;
}
/// A buffer gets the bytes of a value that is on its way to another task.
bool overwrite_while_sending(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (const At& send : all_of(plan, Do::send)) {
    const PlanClass& c = send.of(plan);
    const std::uint32_t sent = operand(c, send.in(plan).inputs, 0);
    for (std::size_t k = send.index + 1; k < c.instructions.size(); ++k) {
      const Instruction& i = c.instructions[k];
      if (i.what == Do::send_wait && i.target == send.in(plan).target) break;
      if (i.what != Do::receive_wait && i.what != Do::loop && i.what != Do::branch && i.outputs.count > 0 &&
          of_one_arena(c, sent, operand(c, i.outputs, 0)))
        pairs.emplace_back(send.plan_class, sent, operand(c, i.outputs, 0));
    }
  }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}

// ---- Values ----

/// The whole value of some parts grows by as many elements as it has parts.
bool wrong_window(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> used;
  for (const PlanClass& c : plan.classes)
    for (const Buffer& b : c.buffers)
      if (b.window != kNone) used.push_back(b.window);
  const std::uint32_t* w = one_of(used, dice);
  if (w == nullptr) return false;
  const SplitDim& split = plan.windows[*w].splits[0];
  plan.windows[*w].sizes[split.dim] += static_cast<std::int64_t>(plan.groupings[split.grouping][0].size());
  return true;
}
/// Tasks with parts of different sizes change places.
bool wrong_coordinates(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> used;
  for (const PlanClass& c : plan.classes)
    for (const Buffer& b : c.buffers) {
      if (b.window == kNone) continue;
      const Window& window = plan.windows[b.window];
      const auto members = static_cast<std::int64_t>(plan.groupings[window.splits[0].grouping][0].size());
      if (members > 1 && window.sizes[window.splits[0].dim] % members != 0) used.push_back(b.window);
    }
  const std::uint32_t* w = one_of(used, dice);
  if (w == nullptr) return false;
  Grouping changed = plan.groupings[plan.windows[*w].splits[0].grouping];
  for (auto& group : changed) std::swap(group.front(), group.back());
  plan.groupings.push_back(std::move(changed));
  plan.windows[*w].splits[0].grouping = static_cast<std::uint32_t>(plan.groupings.size() - 1);
  return true;
}
bool wrong_buffer_bytes(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  if (c.buffers.empty()) return false;
  Buffer& b = c.buffers[dice.below(c.buffers.size())];
  b.bytes += 4;
  return true;
}
/// A buffer that goes to others, or to the caller, gets other dims.
bool wrong_dims(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass& c, const Instruction& i) {
    const bool checked = i.what == Do::send || i.what == Do::fetch || i.what == Do::copy;
    return checked && !c.buffers[operand(c, i.inputs, 0)].sizes.empty() &&
           storage(c, operand(c, i.inputs, 0)) == operand(c, i.inputs, 0);
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).buffers[operand(at->of(plan), at->in(plan).inputs, 0)].sizes.own().push_back(1);
  return true;
}
bool wrong_buffer_dtype(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass&, const Instruction& i) {
    return i.what == Do::send || i.what == Do::fetch || i.what == Do::collective || i.what == Do::feed;
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  const Range range = at->in(plan).inputs.count > 0 ? at->in(plan).inputs : at->in(plan).outputs;
  if (range.count == 0) return false;
  Buffer& b = at->of(plan).buffers[operand(at->of(plan), range, 0)];
  if (b.bounded) return false;
  b.dtype = other_dtype(b.dtype);
  return true;
}
bool wrong_fetch_task(Plan& plan, Dice& dice) {
  if (plan.fetches.empty() || plan.topology.size() < 2) return false;
  PlanPort& port = plan.fetches[dice.below(plan.fetches.size())];
  port.task = (port.task + 1) % plan.topology.size();
  return true;
}
bool drop_fetch(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Do::fetch);
}
bool wrong_variable(Plan& plan, Dice& dice) {
  std::vector<PlanClass*> some;
  for (PlanClass& c : plan.classes)
    if (c.variables.size() > 1) some.push_back(&c);
  PlanClass* const* c = one_of(some, dice);
  if (c != nullptr) std::swap((*c)->variables[0].buffer, (*c)->variables[1].buffer);
  return c != nullptr;
}
bool too_little_memory(Plan& plan, Dice& dice) {
  const std::size_t task = dice.below(plan.class_of.size());
  std::uint64_t bytes = 0;
  for (const PlanDevice& device : plan.classes[plan.class_of[task]].devices)
    bytes += device.step_bytes + device.state_bytes;
  if (bytes < 2) return false;
  plan.topology.tasks[task].memory_bytes = bytes - 1;
  return true;
}

// ---- Regions and classes ----

bool wrong_regions(Plan& plan, Dice& dice) {
  const std::vector<At> loops = all_of(plan, Do::loop);
  const At* at = one_of(loops, dice);
  if (at != nullptr) std::swap(at->in(plan).target, at->in(plan).other);
  return at != nullptr;
}
bool instruction_of_no_region(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  Range& range = c.regions[dice.below(c.regions.size())].instructions;
  if (range.count == 0) return false;
  --range.count;
  return true;
}
/// A collective of a body stands in the step instead, on one of several classes.
bool collective_out_of_body(Plan& plan, Dice& dice) {
  std::vector<At> inside = all_of(plan, Do::collective);
  std::erase_if(inside, [&](const At& at) {
    return region_of(at.of(plan), at.index) < 2 || classes_in(plan, plan.collectives[at.in(plan).target]).size() < 2;
  });
  const At* at = one_of(inside, dice);
  if (at == nullptr) return false;
  const Instruction moved = at->in(plan);
  drop(plan, *at);
  PlanClass& c = at->of(plan);
  const std::uint32_t end = c.regions[1].instructions.begin + c.regions[1].instructions.count;
  c.instructions.insert(c.instructions.begin() + end, moved);
  ++c.regions[1].instructions.count;
  for (std::size_t r = 0; r < c.regions.size(); ++r)
    if (r != 1 && c.regions[r].instructions.begin >= end) ++c.regions[r].instructions.begin;
  return true;
}
bool wrong_condition(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, dice.one_in(2) ? Do::loop : Do::branch);
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).buffers[operand(at->of(plan), at->in(plan).inputs, 0)].dtype = DType::uint8;
  return true;
}
/// A task does what another one does.
bool wrong_class(Plan& plan, Dice& dice) {
  if (plan.classes.size() < 2) return false;
  const std::size_t task = dice.below(plan.class_of.size());
  const PlanClass& c = plan.classes[plan.class_of[task]];
  const auto speaks = [](const Instruction& i) { return i.what == Do::send || i.what == Do::receive; };
  if (std::none_of(c.instructions.begin(), c.instructions.end(), speaks)) return false;
  plan.class_of[task] = (plan.class_of[task] + 1) % static_cast<std::uint32_t>(plan.classes.size());
  return true;
}

constexpr Mutation kMutations[] = {
    {"swapped sends", swap_sends},
    {"dropped send", drop_send},
    {"dropped send_wait", drop_send_wait},
    {"dropped receive", drop_receive},
    {"dropped receive_wait", drop_receive_wait},
    {"wait before its start", early_wait},
    {"receive_wait after its value's use", late_receive_wait},
    {"wrong sender", wrong_sender},
    {"wrong receiver", wrong_receiver},
    {"wrong channel size", wrong_channel_size},
    {"wrong channel dtype", wrong_channel_dtype},
    {"no slots", no_slots},
    {"one channel for two values", one_channel_for_two},
    {"wait for another buffer", other_buffer},
    {"dropped collective", drop_collective},
    {"reordered collectives", reorder_collectives},
    {"wrong parts", wrong_parts},
    {"wrong collective dtype", wrong_collective_dtype},
    {"no sum, or one too many", no_sum},
    {"smaller staging", smaller_staging},
    {"no staging", no_staging},
    {"wrong member", wrong_member},
    {"members in the wrong order", wrong_member_order},
    {"dropped message of a schedule", drop_message_step},
    {"dropped copy or fold of a schedule", drop_copy_or_fold},
    {"fold done twice", fold_twice},
    {"fold before the wait", fold_before_wait},
    {"wrong peer", wrong_peer},
    {"wrong part", wrong_part},
    {"wrong root", wrong_root},
    {"fewer slots", fewer_slots},
    {"wrong number of members", wrong_members},
    {"wrong kind", wrong_kind},
    {"inputs that overlap", overlap_inputs},
    {"output over an input", overlap_output},
    {"smaller arena", smaller_arena},
    {"misplaced view", misplaced_view},
    {"use before making", use_before_making},
    {"dropped maker", drop_maker},
    {"overwritten while sent", overwrite_while_sending},
    {"wrong window", wrong_window},
    {"wrong coordinates", wrong_coordinates},
    {"wrong bytes", wrong_buffer_bytes},
    {"wrong dims", wrong_dims},
    {"wrong dtype", wrong_buffer_dtype},
    {"fetch on another task", wrong_fetch_task},
    {"dropped fetch", drop_fetch},
    {"exchanged variables", wrong_variable},
    {"too little memory", too_little_memory},
    {"exchanged regions", wrong_regions},
    {"instruction of no region", instruction_of_no_region},
    {"collective out of its body", collective_out_of_body},
    {"wrong condition", wrong_condition},
    {"wrong class", wrong_class},
};

}  // namespace

std::span<const Mutation> mutations() {
  return kMutations;
}

}  // namespace ferry::test
