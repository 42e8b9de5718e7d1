// Mutations of the steps of a collective's schedule.
#include <algorithm>
#include <functional>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

/// Gives a random collective whose schedule is wanted a copy of it, which can be changed without changing other
/// collectives; null when there is none.
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

/// A random step that `wanted` accepts, and the copy of a schedule (own_schedule) that it is in.
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
/// The first wait is removed, so that something is folded that may not have arrived.
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
/// The schedule says that members may write over their inputs, which others still read.
bool not_in_place(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, [](const Schedule& s) { return s.members > 1 && !s.in_place; });
  if (schedule != nullptr) schedule->in_place = true;
  return schedule != nullptr;
}
/// Members reach into each other's memory though they share none, or in a way that does not fit the schedule.
bool reaches(Plan& plan, Dice& dice) {
  Schedule* schedule = own_schedule(plan, dice, [](const Schedule& s) { return s.members > 1; });
  if (schedule != nullptr) schedule->via = schedule->via == Via::put ? Via::get : Via::put;
  return schedule != nullptr;
}

constexpr Mutation kScheduleMutations[] = {
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
    {"a schedule that is not in place", not_in_place},
    {"reaching into others' memory", reaches},
};

}  // namespace

std::span<const Mutation> schedule_mutations() {
  return kScheduleMutations;
}

}  // namespace ferry::test
