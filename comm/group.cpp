#include "comm/group.hpp"

#include <algorithm>
#include <cstdint>

#include "comm/group_ways.hpp"

namespace ferry {
namespace {

/// All-reduces that receive no more than this in one round: there a round costs more than its bytes.
constexpr std::int64_t kOneRound = 16 << 10;

bool fits_one_round(const GroupSpec& spec) {
  const auto others = static_cast<std::int64_t>(spec.tasks.size()) - 1;
  const std::int64_t elements = spec.schedule.input_elements(spec.parts, spec.member);
  return spec.schedule.in_place() && others > 0 &&
         elements * others * static_cast<std::int64_t>(size_of(spec.dtype)) <= kOneRound;
}

}  // namespace

GroupCount& GroupCount::operator+=(const GroupCount& other) {
  sent_messages += other.sent_messages;
  sent_bytes += other.sent_bytes;
  received_messages += other.received_messages;
  received_bytes += other.received_bytes;
  return *this;
}

std::unique_ptr<GroupCall> prepare_call(Transport& transport, const GroupSpec& spec) {
  const Schedule& schedule = spec.schedule;
  FERRY_ASSERT(static_cast<std::int32_t>(spec.parts.size()) == schedule.part_count(), "parts do not fit the schedule");
  FERRY_ASSERT(static_cast<std::int32_t>(spec.tasks.size()) == schedule.members, "tasks do not fit the schedule");
  FERRY_ASSERT(
      static_cast<std::int64_t>(spec.staging.size()) >= staging_bytes(schedule, spec.parts, spec.dtype, spec.member),
      "staging is too small");
  FERRY_ASSERT(spec.input == nullptr || spec.input != spec.output || schedule.in_place(),
               "a collective cannot write over its input");
  const bool near = !spec.exact && std::ranges::all_of(spec.tasks, [&](std::int32_t task) {
    return task == transport.task() || transport.lends(task);
  });
  return near && fits_one_round(spec) ? one_round_call(transport, spec) : stepwise_call(transport, spec, near);
}

}  // namespace ferry
