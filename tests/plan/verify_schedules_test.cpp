// Schedules that the verifier refuses: those that reach into memory, or fold on GPUs, in other ways than there are.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/schedule/schedule.hpp"
#include "plan/verify/verifier.hpp"
#include "tests/support/has.hpp"

namespace ferry {
namespace {

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
