#include "comm/group.hpp"

#include <cstring>

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;

/// Where a slot begins: the one of that number, or that of `peer`.
std::byte* slot_of(const GroupSpec& spec, int peer, std::int32_t number) {
  const std::int64_t bytes = slot_bytes(spec.schedule, spec.parts, spec.dtype);
  const int of_peer = peer > spec.member ? peer - 1 : peer;
  return spec.staging.data() + bytes * (number == ScheduleStep::kOfPeer ? of_peer : number);
}

/// Drops the tickets that are done.
bool all_done(Transport& transport, std::vector<Ticket>& tickets) {
  for (std::size_t i = 0; i < tickets.size();) {
    if (transport.done(tickets[i])) {
      tickets[i] = tickets.back();
      tickets.pop_back();
    } else {
      ++i;
    }
  }
  return tickets.empty();
}

}  // namespace

GroupCall::GroupCall(Transport& transport, const GroupSpec& spec)
    : transport_(transport), channel_(spec.channel), fold_(spec.fold) {
  const Schedule& schedule = spec.schedule;
  FERRY_ASSERT(static_cast<std::int32_t>(spec.parts.size()) == schedule.part_count(), "parts do not fit the schedule");
  FERRY_ASSERT(static_cast<std::int32_t>(spec.tasks.size()) == schedule.members, "tasks do not fit the schedule");
  FERRY_ASSERT(
      static_cast<std::int64_t>(spec.staging.size()) >= staging_bytes(schedule, spec.parts, spec.dtype, spec.member),
      "staging is too small");
  for (const ScheduleStep& step : schedule.steps) {
    if (step.concerns(spec.member)) steps_.push_back(prepare(spec, step));
  }
  next_ = steps_.size();
  sends_.reserve(steps_.size());
  receives_.reserve(steps_.size());
}

GroupCall::Step GroupCall::prepare(const GroupSpec& spec, const ScheduleStep& step) const {
  const Schedule& schedule = spec.schedule;
  if (step.kind == Kind::wait || step.kind == Kind::wait_sends) return {.kind = step.kind};
  const int peer = step.peer.resolve(spec.member, schedule.members);
  const int part = step.part.resolve(spec.member, schedule.members);
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const PartRange in = schedule.input_part(spec.parts, spec.member, part);
  const PartRange out = schedule.output_part(spec.parts, spec.member, part);
  const bool own_input = peer == spec.member && step.source == ScheduleStep::kOfPeer;
  Step ready{.kind = step.kind, .peer = spec.tasks[static_cast<std::size_t>(peer)], .count = out.count};
  switch (step.kind) {
    case Kind::send_input:
      ready.source = spec.input + in.begin * size;
      ready.count = in.count;
      break;
    case Kind::send_output:
      ready.source = spec.output + out.begin * size;
      break;
    case Kind::receive_output:
      ready.target = spec.output + out.begin * size;
      break;
    case Kind::receive_slot:
      ready.target = slot_of(spec, peer, step.slot);
      ready.count = schedule.input_part(spec.parts, peer, part).count;
      break;
    case Kind::send_slot:
      ready.source = slot_of(spec, peer, step.slot);
      ready.count = spec.parts[static_cast<std::size_t>(part)];
      break;
    case Kind::copy:
    case Kind::fold:
      ready.source = own_input ? spec.input + in.begin * size : slot_of(spec, peer, step.source);
      ready.target = spec.output + out.begin * size;
      if (step.slot == ScheduleStep::kOfPeer) break;
      ready.target = slot_of(spec, peer, step.slot);
      ready.count = spec.parts[static_cast<std::size_t>(part)];
      break;
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
  ready.bytes = static_cast<std::size_t>(ready.count * size);
  return ready;
}

void GroupCall::start() {
  FERRY_ASSERT(next_ == steps_.size() && sends_.empty() && receives_.empty(), "a collective was started twice");
  next_ = 0;
}

bool GroupCall::progress() {
  for (; next_ < steps_.size(); ++next_) {
    const Step& step = steps_[next_];
    if (step.kind == Kind::wait && !all_done(transport_, receives_)) return false;
    if (step.kind == Kind::wait_sends && !all_done(transport_, sends_)) return false;
    execute(step);
  }
  return all_done(transport_, receives_) && all_done(transport_, sends_);
}

void GroupCall::execute(const Step& step) {
  switch (step.kind) {
    case Kind::send_input:
    case Kind::send_output:
    case Kind::send_slot:
      sends_.push_back(transport_.send(step.peer, channel_, {step.source, step.bytes}));
      ++moved_.sent_messages;
      moved_.sent_bytes += static_cast<std::int64_t>(step.bytes);
      break;
    case Kind::receive_output:
    case Kind::receive_slot:
      receives_.push_back(transport_.receive(step.peer, channel_, {step.target, step.bytes}));
      ++moved_.received_messages;
      moved_.received_bytes += static_cast<std::int64_t>(step.bytes);
      break;
    case Kind::copy:
      if (step.bytes > 0) std::memcpy(step.target, step.source, step.bytes);
      break;
    case Kind::fold:
      fold_(step.target, step.source, step.count);
      break;
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
}

}  // namespace ferry
