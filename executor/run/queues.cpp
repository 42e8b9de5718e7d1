#include "executor/run/queues.hpp"

#include <algorithm>
#include <utility>

namespace ferry {

namespace {

using Kind = DeviceCollective::Kind;

/// A part of a member's input or output: its place, in bytes.
struct Part {
  std::byte* at = nullptr;
  std::uint64_t bytes = 0;
};

/// The messages of a member of a collective that the library has no function of its own for.
class Exchange {
 public:
  Exchange(const Schedule& schedule, const Collective& collective, int member, std::byte* input, std::byte* output)
      : schedule_(schedule), collective_(collective), member_(member), input_(input), output_(output) {}

  [[nodiscard]] std::vector<DeviceMessage> messages() {
    for (int peer = 0; peer < schedule_.members; ++peer) {
      switch (schedule_.kind) {
        case CollectiveKind::all_to_all:
          send(peer, peer);
          receive(peer, peer);
          break;
        case CollectiveKind::all_gather:
          send(peer, member_);
          receive(peer, peer);
          break;
        case CollectiveKind::scatter:
          if (member_ == schedule_.root) send(peer, peer);
          if (peer == schedule_.root) receive(peer, member_);
          break;
        default:  // gather
          if (peer == schedule_.root) send(peer, member_);
          if (member_ == schedule_.root) receive(peer, peer);
          break;
      }
    }
    return std::move(messages_);
  }

 private:
  void send(int peer, int part) { add(peer, 1, input_, schedule_.input_part(collective_.parts, member_, part)); }
  void receive(int peer, int part) { add(peer, 0, output_, schedule_.output_part(collective_.parts, member_, part)); }
  void add(int peer, int sends, std::byte* base, const PartRange& part) {
    const auto size = static_cast<std::int64_t>(size_of(collective_.dtype));
    if (part.count > 0)
      messages_.push_back({peer, sends, base + part.begin * size, static_cast<std::uint64_t>(part.count * size)});
  }

  const Schedule& schedule_;
  const Collective& collective_;
  const int member_;
  std::byte *const input_, *const output_;
  std::vector<DeviceMessage> messages_;
};

/// What the library is asked for; exchange where it has no function for the kind, or for parts of different sizes.
Kind kind_of(const Schedule& schedule, const Collective& collective) {
  const auto& parts = collective.parts;
  switch (schedule.kind) {
    case CollectiveKind::all_reduce:
      return Kind::all_reduce;
    case CollectiveKind::reduce:
      return Kind::reduce;
    case CollectiveKind::reduce_scatter:
      return Kind::reduce_scatter;
    case CollectiveKind::broadcast:
      return Kind::broadcast;
    case CollectiveKind::all_gather:
      return std::ranges::all_of(parts, [&](std::int64_t part) { return part == parts[0]; }) ? Kind::all_gather
                                                                                             : Kind::exchange;
    default:
      return Kind::exchange;
  }
}

}  // namespace

Queues::Queues(const ResolvedPlan& resolved, const Devices& devices, GpuGroups* groups, bool one_by_one)
    : resolved_(resolved),
      role_(resolved.plan().class_for(resolved.task())),
      devices_(devices),
      groups_(groups),
      one_by_one_(one_by_one),
      first_(role_.instructions.data()),
      caught_up_(devices.event()) {
  for (const std::span<const std::byte> memory : resolved.host_memory())
    host_memory_.push_back(devices.host_memory(memory.data(), memory.size()));
  for (const PlanQueue& queue : role_.queues)
    queues_.push_back(devices.queue(static_cast<int>(role_.devices[queue.device].index)));
  find_works();
}

void Queues::find_works() {
  works_.resize(role_.instructions.size());
  for (const Region& region : role_.regions) {
    std::vector<std::vector<Work*>> of_strand(role_.strands());
    for (std::uint32_t i = region.instructions.begin; i < region.instructions.begin + region.instructions.count; ++i) {
      const Instruction& instruction = role_.instructions[i];
      Work& work = works_[i];
      if (role_.on_queue(instruction)) {
        work.queue = queues_[instruction.strand - role_.threads].get();
        if (instruction.what == Opcode::collective) work.meeting = meeting_of(instruction);
      }
      for (std::uint32_t w = instruction.waits.begin; w < instruction.waits.begin + instruction.waits.count; ++w) {
        const Wait& wait = role_.waits[w];
        if (wait.count == 0) continue;
        Work& earlier = *of_strand[wait.strand][wait.count - 1];
        if (earlier.happened == nullptr) earlier.happened = events_.emplace_back(devices_.event()).get();
        work.after.push_back(earlier.happened);
      }
      of_strand[instruction.strand].push_back(&work);
    }
  }
}

std::unique_ptr<Queues::Meeting> Queues::meeting_of(const Instruction& instruction) const {
  const Plan& plan = resolved_.plan();
  const Collective& collective = plan.collectives[instruction.target];
  const Schedule& schedule = plan.schedules[collective.schedule];
  const Membership place = membership(plan.groupings[collective.grouping], resolved_.task());
  const auto address = [&](Range operands) {
    return operands.count == 0 ? nullptr
                               : const_cast<std::byte*>(resolved_.bytes_of(role_.operands[operands.begin]).data());
  };
  std::byte *const input = address(instruction.inputs), *const output = address(instruction.outputs);
  auto made = std::make_unique<Meeting>();
  made->bytes =
      schedule.input_elements(collective.parts, place.member) * static_cast<std::int64_t>(size_of(collective.dtype));
  made->group = groups_->of(*place.group, role_.devices[role_.queues[instruction.strand - role_.threads].device].index);
  made->what = {.kind = kind_of(schedule, collective),
                .reduce = collective.reduce,
                .dtype = collective.dtype,
                .root = schedule.root,
                .count = static_cast<std::uint64_t>(collective.parts[0]),
                .input = input,
                .output = output,
                .tag = &instruction};
  if (made->what.kind == Kind::exchange) {
    made->messages = Exchange(schedule, collective, place.member, input, output).messages();
    made->what.count = 0;
    made->what.messages = made->messages.data();
    made->what.message_count = made->messages.size();
  }
  return made;
}

void Queues::before(const Resolved& r, Waiting& waiting) {
  for (void* const event : of(r).after) wait(event, r, waiting);
  if (devices_.asks_for_touches() && r.what != Opcode::loop) touch(r);  // a loop's condition is yet to be computed
}

void Queues::reads(const Resolved& loop) const {
  if (devices_.asks_for_touches()) touch(loop);
}

void Queues::wait(void* event, const Resolved& r, Waiting& waiting) {
  waiting.until([&] { return devices_.happened(event); }, r);
}

/// Tells the devices what memory `r` touches. The outputs of a loop or branch are written by the instructions inside.
void Queues::touch(const Resolved& r) const {
  const auto each = [&](Range range, bool writes) {
    for (std::uint32_t k = 0; k < range.count; ++k) {
      const std::span<const std::byte> bytes = resolved_.bytes_of(role_.operands[range.begin + k]);
      devices_.touches(bytes.data(), bytes.size(), writes, r.plan);
    }
  };
  each(r.plan->inputs, false);
  if (r.what == Opcode::loop || r.what == Opcode::branch) return;
  each(r.plan->outputs, true);
  if (r.plan->scratch == kNone) return;
  const std::span<const std::byte> scratch = resolved_.bytes_of(r.plan->scratch);
  devices_.touches(scratch.data(), scratch.size(), true, r.plan);
}

void Queues::give(const Resolved& r, Traffic& moved, Waiting& waiting) {
  const Work& work = of(r);
  for (void* const event : work.after) devices_.wait(work.queue, event);
  submit(r, work, moved, waiting);
}

void Queues::submit(const Resolved& r, const Work& work, Traffic& moved, Waiting& waiting) {
  if (r.what == Opcode::copy) {
    ++moved.copies;
    devices_.copy(work.queue, r.output, r.input, r.bytes, r.plan);
  } else if (work.meeting != nullptr) {
    const DeviceCollective& what = work.meeting->what;
    waiting.until([&] { return devices_.collective(work.queue, work.meeting->group, what); }, r);
    moved.collective_bytes += work.meeting->bytes;
  } else if (r.what == Opcode::kernel) {
    r.run->queue = work.queue;
    devices_.launch(work.queue, {r.kernel, r.run, r.plan});
  }
  if (work.happened != nullptr) devices_.record(work.queue, work.happened);
  if (one_by_one_) wait_for_queue(work.queue, r, waiting);
}

void Queues::give_checked(const Resolved& r, Traffic& moved, Waiting& waiting, NumberChecks& checks) {
  if (r.what != Opcode::kernel) return give(r, moved, waiting);
  const Work& work = of(r);
  for (void* const event : work.after) devices_.wait(work.queue, event);
  Given given;
  const std::vector<Array> inputs = on_host(r.run->inputs, work.queue, r, waiting);
  for (const Array& input : inputs) given.add(not_finite(input));
  given.infinite = given.infinite || r.run->inputs.empty();
  submit(r, work, moved, waiting);
  for (const Array& output : on_host(r.run->outputs, work.queue, r, waiting))
    checks.require_finite(given, not_finite(output));
}

std::vector<Array> Queues::on_host(std::span<const Array> arrays, void* queue, const Resolved& r, Waiting& waiting) {
  std::vector<Array> copies(arrays.begin(), arrays.end());
  used_.clear();
  looked_at_.clear();
  for (Array& array : copies) {
    const auto bytes = static_cast<std::size_t>(array.count()) * size_of(array.dtype);
    if (array.data == nullptr || bytes == 0) continue;
    std::vector<std::byte>& copy = looked_at_.emplace_back(bytes);
    used_.push_back(devices_.host_memory(copy.data(), bytes));
    devices_.copy(queue, copy.data(), array.data, bytes, r.plan);
    array.data = copy.data();
  }
  wait_for_queue(queue, r, waiting);
  return copies;
}

void Queues::wait_for_queue(void* queue, const Resolved& r, Waiting& waiting) {
  devices_.record(queue, caught_up_.get());
  wait(caught_up_.get(), r, waiting);
}

void Queues::sets(const std::int64_t& number) const {
  if (devices_.asks_for_touches())
    devices_.touches(reinterpret_cast<const std::byte*>(&number), sizeof number, true, nullptr);
}

}  // namespace ferry
