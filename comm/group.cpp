#include "comm/group.hpp"

#include <string>

#include "comm/group_ways.hpp"

namespace ferry {
namespace {

/// Error(plan) unless the tasks share memory, as schedules with Via::put and Via::get require.
void require_lending(const Transport& transport, const GroupSpec& spec) {
  for (const std::int32_t task : spec.tasks)
    if (task != transport.task() && !transport.lends(task))
      throw Error(Code::plan, "the plan is for tasks that share memory, and tasks {} and {} do not", transport.task(),
                  task)
          .hint("make the plan again from its graph");
}

}  // namespace

std::unique_ptr<GroupCall> prepare_call(Transport& transport, const GroupSpec& spec) {
  const Schedule& schedule = spec.schedule;
  FERRY_ASSERT(static_cast<std::int32_t>(spec.parts.size()) == schedule.part_count(), "parts do not fit the schedule");
  FERRY_ASSERT(static_cast<std::int32_t>(spec.tasks.size()) == schedule.members, "tasks do not fit the schedule");
  const bool one_shot = schedule.in_place && schedule.whole && schedule.members > 1;
  const bool has_own_staging = one_shot && spec.stamped;
  FERRY_ASSERT(has_own_staging || static_cast<std::int64_t>(spec.staging.size()) >=
                                      staging_bytes(schedule, spec.parts, spec.dtype, spec.member),
               "staging is too small");
  // An input or output without bytes may have any address.
  FERRY_ASSERT(spec.input == nullptr || spec.input != spec.output || schedule.in_place ||
                   schedule.input_elements(spec.parts, spec.member) == 0 ||
                   schedule.output_elements(spec.parts, spec.member) == 0,
               "a collective cannot write over its input");
  if (schedule.via != Via::messages) require_lending(transport, spec);
  return one_shot ? one_shot_call(transport, spec) : stepwise_call(transport, spec);
}

}  // namespace ferry
