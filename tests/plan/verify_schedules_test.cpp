// Schedules that the verifier refuses: they reach into memory, or fold on GPUs, in other ways than there are, or one
// member cannot play for all.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/schedule/schedule.hpp"
#include "plan/schedule/schedule_steps.hpp"
#include "plan/verify/verifier.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/has.hpp"

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;

bool passes_alone(const Schedule& schedule) {
  Plan plan;
  plan.schedules = {schedule};
  plan.collectives.resize(1);
  plan.collectives[0].parts.assign(static_cast<std::size_t>(schedule.part_count()), 1);
  try {
    verifier::check_schedules(plan);
    return true;
  } catch (const verifier::PlanRejected&) {
    return false;
  }
}

/// The same schedule with separate steps for each member, whose peers and parts are numbers. So all members play it.
Schedule member_by_member(const Schedule& shared) {
  Schedule schedule = shared;
  schedule.period = 0;
  schedule.steps.clear();
  for (int m = 0; m < shared.members; ++m)
    for (ScheduleStep step : shared.steps) {
      if (!shared.concerns(step, m)) continue;
      step.peer = steps::fixed(step.peer.resolve(m, shared.members));
      step.part = steps::fixed(step.part.resolve(m, shared.members));
      step.only = m;
      step.except = ScheduleStep::kAll;
      schedule.steps.push_back(step);
    }
  return schedule;
}

void change(Schedule& schedule, test::Dice& dice) {
  constexpr Kind kKinds[] = {Kind::send_input, Kind::send_output, Kind::receive_output, Kind::receive_slot,
                             Kind::wait,       Kind::copy,        Kind::fold,           Kind::wait_sends};
  const auto any = [&]() -> ScheduleStep& { return schedule.steps[dice.below(schedule.steps.size())]; };
  ScheduleStep& step = any();
  switch (dice.below(7)) {
    case 0:
      step.peer.value = dice.below(schedule.members);
      break;
    case 1:
      step.part.value = dice.below(schedule.members);
      break;
    case 2:
      step.slot = dice.below(schedule.slots + 1) - 1;
      break;
    case 3:
      step.source = dice.below(schedule.slots + 1) - 1;
      break;
    case 4:
      step.kind = kKinds[dice.below(std::size(kKinds))];
      break;
    case 5:
      step.only = dice.below(schedule.scripts() + 1) - 1;
      break;
    default:
      std::swap(step, any());
  }
}

TEST_CASE("what passes if few members play for all passes if all play") {
  using enum CollectiveKind;
  const std::vector<std::int32_t> pairs{0, 0, 1, 1, 2, 2}, threes{0, 0, 0, 1, 1, 1}, alone{0, 1, 2};
  std::vector<Schedule> all{hierarchical_schedule(all_reduce, pairs), hierarchical_schedule(all_reduce, threes),
                            hierarchical_schedule(all_reduce, alone), ring_schedule(all_reduce, 4)};
  for (const CollectiveKind kind : {all_reduce, reduce_scatter, all_gather, all_to_all})
    all.push_back(direct_schedule(kind, 3));
  test::Dice dice(1);
  int changed = 0;
  for (Schedule& schedule : all) {
    schedule.in_place = false;  // in place, only the known lists of steps pass
    CAPTURE(schedule.algorithm);
    CAPTURE(name_of(schedule.kind));
    CHECK(passes_alone(schedule));
    CHECK(passes_alone(member_by_member(schedule)));
    for (int k = 0; k < 500; ++k) {
      Schedule other = schedule;
      do change(other, dice);
      while (dice.one_in(2));
      CAPTURE(k);
      if (!passes_alone(other)) continue;
      changed += other == schedule ? 0 : 1;
      CHECK(passes_alone(member_by_member(other)));
    }
  }
  CHECK(changed > 50);
}

TEST_CASE("one member does not play for all if slots are named by number and by peer") {
  using steps::next;
  using steps::own;
  // Member 0 folds each part in the order of the members from the part's number on. Slot 0 of member 1 has another
  // peer than the next one, so member 1 folds in another order.
  Schedule sum{.kind = CollectiveKind::all_reduce, .algorithm = "by hand", .members = 3, .slots = 2, .steps = {}};
  constexpr std::int32_t kOfPeer = ScheduleStep::kOfPeer, kAll = ScheduleStep::kAll;
  for (int part = 0; part < 3; ++part) {
    for (const int d : {1, 2}) sum.steps.push_back({Kind::receive_slot, next(d), next(part)});
    for (const int d : {1, 2}) sum.steps.push_back({Kind::send_input, next(d), next(part == 0 ? d : (part + d) % 3)});
    sum.steps.push_back({Kind::wait, {}, {}});
    sum.steps.push_back({Kind::wait_sends, {}, {}});
    for (int term = 0; term < 3; ++term) {
      const int d = (part + term) % 3;
      sum.steps.push_back({term == 0 ? Kind::copy : Kind::fold, own, next(part), kAll, kAll, kOfPeer, d - 1});
    }
  }
  CHECK_FALSE(passes_alone(member_by_member(sum)));
  CHECK_FALSE(passes_alone(sum));
}

TEST_CASE("the verifier refuses to reach into memory in a way that the schedule does not allow") {
  Plan plan;
  plan.topology = Topology::local(3);
  plan.groupings = {{{0, 1, 2}}};
  plan.collectives.resize(1);
  const auto passes = [&](const Schedule& schedule) {
    plan.schedules = {schedule};
    try {
      verifier::check_schedules(plan);
      return true;
    } catch (const verifier::PlanRejected&) {
      return false;
    }
  };
  const auto with = [](Schedule schedule, Via via, bool in_place) {
    schedule.via = via;
    schedule.in_place = in_place;
    return schedule;
  };
  const Schedule direct = direct_schedule(CollectiveKind::all_reduce, 3), one_shot = one_shot_schedule(3),
                 ring = ring_schedule(CollectiveKind::all_reduce, 3);
  CHECK_FALSE(passes(with(direct, Via::get, true)));  // the tasks share no memory
  for (TaskInfo& task : plan.topology.tasks) task.memory_group = 0;
  CHECK(passes(with(direct, Via::get, true)));
  CHECK(passes(with(one_shot, Via::put, true)));
  CHECK_FALSE(passes(with(direct, Via::put, true)));
  CHECK_FALSE(passes(with(one_shot, Via::get, true)));
  CHECK_FALSE(passes(with(direct, Via::get, false)));
  CHECK_FALSE(passes(with(ring, Via::get, false)));
  CHECK_FALSE(passes(with(ring, Via::messages, true)));
  CHECK_FALSE(passes(with(direct_schedule(CollectiveKind::all_gather, 3), Via::messages, true)));
  plan.topology.tasks[2].memory_group = 1;
  CHECK_FALSE(passes(with(direct, Via::get, true)));
}

TEST_CASE("the verifier takes sums that GPUs fold by the steps of direct and one-shot ones alone") {
  Plan plan;
  plan.collectives.resize(1);
  const auto refusal = [&](const Schedule& schedule) -> std::string {
    plan.topology = Topology::local(schedule.members);
    plan.groupings = {{{}}};
    for (std::int32_t member = 0; member < schedule.members; ++member) plan.groupings[0][0].push_back(member);
    plan.collectives[0].parts.assign(static_cast<std::size_t>(schedule.part_count()), 1);
    plan.schedules = {schedule};
    try {
      verifier::check_schedules(plan);
      return "";
    } catch (const verifier::PlanRejected& rejected) {
      return rejected.reason;
    }
  };
  using enum CollectiveKind;
  for (const int members : {2, 3, 5}) {
    CAPTURE(members);
    std::vector<Schedule> sums{one_shot_schedule(members)};
    for (const CollectiveKind kind : {all_reduce, reduce_scatter, reduce})
      sums.push_back(direct_schedule(kind, members, kind == reduce ? members - 1 : 0));
    sums.push_back(direct_schedule(reduce, members, 1, true));
    for (const Schedule& sum : sums) {
      CAPTURE(sum.algorithm);
      CAPTURE(name_of(sum.kind));
      const Schedule good = folded_on_gpus(sum);
      CHECK(refusal(good) == "");
      for (int member = 0; member < members; ++member)  // data from the library are in slots, like messages
        CHECK(good.slots_of(member) == sum.slots_of(member));
      for (std::size_t k = 0; k < good.steps.size(); ++k) {
        CAPTURE(k);
        Schedule without = good;
        without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(k));
        CHECK(refusal(without) != "");
        if (k + 1 == good.steps.size() || good.steps[k] == good.steps[k + 1]) continue;
        Schedule exchanged = good;
        std::swap(exchanged.steps[k], exchanged.steps[k + 1]);
        CHECK(refusal(exchanged) != "");
      }
    }
  }
  const auto other = "it has other steps than a direct or one-shot one, which GPUs fold";
  CHECK(test::has(refusal(folded_on_gpus(ring_schedule(all_reduce, 3))), other));
  CHECK(test::has(refusal(folded_on_gpus(tree_schedule(reduce, 3))), other));
  Schedule backwards = direct_schedule(reduce_scatter, 3);  // a fold that is equal on all, in another order
  for (ScheduleStep& step : backwards.steps)
    if (step.kind == ScheduleStep::Kind::copy || step.kind == ScheduleStep::Kind::fold)
      step.peer.value = 2 - step.peer.value;
  CHECK(refusal(backwards) == "");
  CHECK(test::has(refusal(folded_on_gpus(backwards)), other));
  plan.collectives[0].gpu = 0;
  for (Schedule schedule : {direct_schedule(all_reduce, kMostFolded + 1), direct_schedule(all_gather, 3)}) {
    schedule.via = Via::library;
    plan.schedules = {schedule};
    CHECK_THROWS_AS(verifier::check_gpu_groups(plan), verifier::PlanRejected);
  }
  Schedule wrong_part = folded_on_gpus(direct_schedule(all_reduce, 3));
  wrong_part.steps[0].part.value = 1;
  CHECK(refusal(wrong_part) != "");
}

}  // namespace
}  // namespace ferry
