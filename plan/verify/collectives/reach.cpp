#include <string>
#include <vector>

#include "plan/schedule/schedule_steps.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

using Kind = ScheduleStep::Kind;

/// The steps of a direct or one-shot sum, with which an all_reduce may work in place. Direct: only the member that
/// folds a part reads it (from all members), and only this member writes it before the others receive the result.
/// One-shot: when a member folds, its input has been sent, or has been copied to the others. In both, messages sent
/// before a member's first wait are received before the receiver's first wait, and likewise for later waits. Folds are
/// in the order of the members.
std::vector<ScheduleStep> known_steps(const Schedule& s) {
  using steps::next;
  using steps::own;
  std::vector<ScheduleStep> all;
  const std::int32_t only = s.kind == CollectiveKind::reduce ? s.root : ScheduleStep::kAll;
  const auto each = [&](auto step) {
    for (int distance = 1; distance < s.members; ++distance) all.push_back(step(next(distance)));
  };
  const auto wait = [&](Kind kind) {
    if (s.members > 1) all.push_back({kind, {}, {}, only});
  };
  const auto fold = [&](MemberRef part) {
    Kind kind = Kind::copy;
    for (int member = 0; member < s.members; ++member) {
      if (s.guest_root && member == s.root) continue;
      all.push_back({kind, steps::fixed(member), part, only});
      kind = Kind::fold;
    }
  };
  if (s.kind == CollectiveKind::reduce) {
    each([&](MemberRef peer) { return ScheduleStep{Kind::receive_slot, peer, steps::fixed(0), only}; });
    all.push_back({Kind::send_input, steps::fixed(s.root), steps::fixed(0), ScheduleStep::kAll, s.root});
    wait(Kind::wait);
    fold(steps::fixed(0));
    return all;
  }
  if (s.whole) {
    each([](MemberRef peer) { return ScheduleStep{Kind::receive_slot, peer, steps::fixed(0)}; });
    each([](MemberRef peer) { return ScheduleStep{Kind::send_input, peer, steps::fixed(0)}; });
    wait(Kind::wait);
    wait(Kind::wait_sends);
    fold(steps::fixed(0));
    return all;
  }
  each([](MemberRef peer) { return ScheduleStep{Kind::receive_slot, peer, own}; });
  each([](MemberRef peer) { return ScheduleStep{Kind::send_input, peer, peer}; });
  wait(Kind::wait);
  fold(own);
  if (s.kind == CollectiveKind::reduce_scatter) return all;
  each([](MemberRef peer) { return ScheduleStep{Kind::receive_output, peer, peer}; });
  each([](MemberRef peer) { return ScheduleStep{Kind::send_output, peer, own}; });
  wait(Kind::wait);
  return all;
}

}  // namespace

void check_reach(const Schedule& schedule, const std::string& what) {
  if (schedule.via == Via::library) {
    if (schedule.steps != known_steps(schedule))
      reject(what + ": it has other steps than a direct or one-shot one, which GPUs fold");
    return;
  }
  if (!schedule.in_place && schedule.via == Via::messages) return;
  if (schedule.kind != CollectiveKind::all_reduce || schedule.steps != known_steps(schedule))
    reject(what + ": it has other steps than a direct or one-shot one, in which members may " +
           (schedule.in_place ? "write over their inputs" : "reach into each other's memory"));
  if (schedule.via != Via::messages && (!schedule.in_place || (schedule.via == Via::put) != schedule.whole))
    reject(what + ": members do not " + std::string(name_of(schedule.via)) + " in it");
}

void check_sharing(const Plan& plan, std::uint32_t number) {
  const Collective& collective = plan.collectives[number];
  const Via via = plan.schedules[collective.schedule].via;
  if (via == Via::messages || via == Via::library) return;
  const auto share = [&](std::int32_t a, std::int32_t b) { return tasks_share_memory(plan, a, b); };
  for (const std::vector<std::int32_t>& group : plan.groupings[collective.grouping])
    for (const std::int32_t task : group)
      if (!share(group[0], task))
        reject(described(plan, number) + ": it is by " + std::string(name_of(via)) + ", and tasks " +
               std::to_string(group[0]) + " and " + std::to_string(task) + " share no memory");
}

bool tasks_share_memory(const Plan& plan, std::int32_t a, std::int32_t b) {
  const auto memory = [&](std::int32_t task) { return plan.topology.tasks[task].memory_group; };
  return memory(a) >= 0 && memory(a) == memory(b);
}

}  // namespace ferry::verifier
