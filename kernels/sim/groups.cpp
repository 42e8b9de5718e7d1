#include "kernels/sim/groups.hpp"

#include "kernels/sim/context.hpp"

namespace ferry::sim {
namespace {

struct Member {
  SimTask* context = nullptr;
  int device = 0;
  std::shared_ptr<GroupsOnHost::Member> member;
};

/// Checks the memory that a member of a collective reads or writes.
int touch_collective(SimQueue& queue, const void* memory, std::uint64_t bytes, bool writes, const Moment& now) {
  SimTask& context = *queue.context;
  if (bytes == 0) return 0;
  const auto* const at = static_cast<const std::byte*>(memory);
  const SimTask::Memory* const found = memory_of(context, at, bytes);
  if (found == nullptr || found->device != queue.device)
    return fail(context, Code::bug, "a collective on gpu:" + std::to_string(queue.device) + " is given other memory",
                now.tag);
  return touch(context, at, bytes, writes, now, queue.vector_clock);
}

/// The bytes of a member's input or output, for all kinds except an exchange.
std::uint64_t bytes_of(const DeviceCollective& what, std::size_t members, bool output) {
  using Kind = DeviceCollective::Kind;
  const bool of_all = what.kind == (output ? Kind::all_gather : Kind::reduce_scatter);
  return what.count * size_of(what.dtype) * (of_all ? members : 1);
}

int touch_all(SimQueue& queue, const DeviceCollective& what, std::size_t members, const Moment& now) {
  if (what.input != nullptr && touch_collective(queue, what.input, bytes_of(what, members, false), false, now) != 0)
    return -1;
  if (what.output != nullptr && touch_collective(queue, what.output, bytes_of(what, members, true), true, now) != 0)
    return -1;
  for (std::uint64_t m = 0; m < what.message_count; ++m) {
    const DeviceMessage& message = what.messages[m];
    if (touch_collective(queue, message.memory, message.bytes, message.sends == 0, now) != 0) return -1;
  }
  return 0;
}

/// Runs all work that is ordered before the queue's next work item.
void run_earlier_work(SimTask& context, const SimQueue& queue) {
  for (const auto& [strand, number] : queue.after) run_until(context, strand, number);
  run_until(context, queue.strand, queue.given);
}

}  // namespace

std::uint64_t group_domain(void*, const char**) {
  return GroupsOnHost::domain();
}

int name_group(void* devices, DeviceGroupName* name) {
  if (sim_task(devices).failure) return -1;
  *name = sim_task(devices).groups.name();
  return 0;
}

void* join_group(void* devices, int device, const DeviceGroupName* name, int members, int member) {
  SimTask& context = sim_task(devices);
  if (!may_use(context, device)) return nullptr;
  return new Member{&context, device, context.groups.join(*name, members, member, &context)};
}

int joined(void* group) {
  const Member& member = *static_cast<const Member*>(group);
  if (member.context->failure) return -1;
  return member.context->groups.joined(*member.member) ? 1 : 0;
}

void abandon_group(void*) {}

void leave_group(void* group) {
  const std::unique_ptr<Member> member(static_cast<Member*>(group));
  member->context->groups.leave(*member->member);
}

int collective(void* queue, void* group, const DeviceCollective* what) {
  SimQueue& running = given(queue);
  SimTask& context = *running.context;
  Member& member = *static_cast<Member*>(group);
  if (!is_ready(context)) return -1;
  if (!member.member->posted) {
    if (const auto last = context.last_collective.find(running.device); last != context.last_collective.end()) {
      const Moment& before = last->second;
      if (before.strand != running.strand &&
          (running.vector_clock.size() <= before.strand || running.vector_clock[before.strand] < before.number))
        return fail(context, Code::bug,
                    "the simulated device has found collectives of gpu:" + std::to_string(running.device) +
                        " that nothing orders, on " + name_of(context, before.strand) + " and " +
                        name_of(context, running.strand),
                    what->tag);
    }
    run_earlier_work(context, running);
    if (context.failure) return -1;
  }
  try {
    auto results = context.groups.poll_collective(*member.member, *what, [&](const void* at) {
      return host_address(context, static_cast<std::byte*>(const_cast<void*>(at)));
    });
    if (!results) return 1;
    Work work;
    work.launch.tag = what->tag;
    work.results = std::move(*results);
    const Moment now = append_work(running, std::move(work), what->tag);
    context.last_collective.insert_or_assign(running.device, now);
    return touch_all(running, *what, GroupsOnHost::members(*member.member), now);
  } catch (const Error& error) {
    return fail(context, error.code(), std::string(error.text()), what->tag);
  }
}

}  // namespace ferry::sim
