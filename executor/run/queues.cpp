#include "executor/run/queues.hpp"

#include <utility>

#include "plan/traffic/class_traffic.hpp"

namespace ferry {

Queues::Queues(const ResolvedPlan& resolved, const Devices& devices, const KernelTable& kernels, GpuGroups* groups,
               bool one_by_one, Trace* trace)
    : resolved_(resolved),
      role_(resolved.plan().class_for(resolved.task())),
      devices_(devices),
      groups_(groups),
      one_by_one_(one_by_one),
      first_(role_.instructions.data()),
      given_(role_.devices.size()),
      caught_up_(devices.event()) {
  for (const std::span<const std::byte> memory : resolved.host_memory())
    host_memory_.push_back(devices.host_memory(memory.data(), memory.size()));
  for (const PlanQueue& queue : role_.queues)
    queues_.push_back(devices.queue(static_cast<int>(role_.devices[queue.device].index)));
  if (trace != nullptr) times_.emplace(role_, devices, queues_, *trace);
  find_works(kernels);
  find_stretches();
}

void Queues::find_works(const KernelTable& kernels) {
  works_.resize(role_.instructions.size());
  for (const Region& region : role_.regions) {
    std::vector<std::vector<WorkItem*>> of_strand(role_.strands());
    for (const std::uint32_t i : region.instructions) {
      const Instruction& instruction = role_.instructions[i];
      WorkItem& work = works_[i];
      if (role_.on_queue(instruction)) {
        work.queue = queues_[instruction.strand - role_.threads].get();
        work.queue_info = role_.queues[instruction.strand - role_.threads];
        if (instruction.what == Opcode::collective) work.collective = collective_of(instruction, kernels);
      }
      for (const std::uint32_t w : instruction.waits) {
        const Wait& wait = role_.waits[w];
        if (wait.count == 0) continue;
        WorkItem& earlier = *of_strand[wait.strand][wait.count - 1];
        if (earlier.happened == nullptr) earlier.happened = events_.emplace_back(devices_.event()).get();
        work.after.push_back(earlier.happened);
      }
      of_strand[instruction.strand].push_back(&work);
    }
  }
}

std::unique_ptr<GpuCollective> Queues::collective_of(const Instruction& instruction, const KernelTable& kernels) const {
  const auto address = [&](BufferId buffer) {
    return buffer == kNone ? nullptr : const_cast<std::byte*>(resolved_.bytes_of(buffer).data());
  };
  const auto first = [&](Range operands) {
    return operands.count == 0 ? BufferId(kNone) : role_.operands[operands[0]];
  };
  return groups_->collective(resolved_.plan(), resolved_.task(), instruction,
                             {.input = address(first(instruction.inputs)),
                              .output = address(first(instruction.outputs)),
                              .slots = address(instruction.scratch)},
                             kernels);
}

void Queues::find_stretches() {
  if (one_by_one_) return;
  for (const Range& stretch : role_.stretches) {
    works_[stretch.first].stretch = static_cast<std::uint32_t>(stretches_.size());
    stretches_.push_back({.instructions = stretch.count, .work = {}, .graph = {}});
  }
}

void Queues::before(const Resolved& r, Waiting& waiting) {
  for (void* const event : item_of(r).after) wait(event, r, waiting);
  if (devices_.asks_for_touches() && r.what != Opcode::loop) touch(r);  // a loop's condition is yet to be computed
}

void Queues::reads(const Resolved& loop) const {
  if (devices_.asks_for_touches()) touch(loop);
}

void Queues::wait(void* event, const Resolved& r, Waiting& waiting) {
  waiting.until([&] { return devices_.happened(event); }, r);
}

/// Informs the devices which memory `r` touches. The outputs of a loop or branch are written by the instructions
/// inside.
void Queues::touch(const Resolved& r) const {
  const auto each = [&](Range range, bool writes) {
    for (const BufferId b : role_.operands_of(range)) {
      const std::span<const std::byte> bytes = resolved_.bytes_of(b);
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
  const WorkItem& work = item_of(r);
  for (void* const event : work.after) devices_.wait(work.queue, event);
  submit(r, work, moved, waiting);
}

DeviceWork Queues::submit_work(const Resolved& r, const WorkItem& work) {
  if (r.what == Opcode::copy) {
    devices_.copy(work.queue, r.output, r.input, r.bytes, r.plan);
    return work_of_copy(work.queue_info.role, r.bytes);
  }
  if (r.run == nullptr) return {};
  r.run->queue = work.queue;
  devices_.launch(work.queue, {r.kernel, r.run, r.plan});
  return {.launches = 1};
}

/// Submits a collective to its queue. The queue's library may ask to be called again until the other members have
/// joined.
DeviceWork Queues::submit_collective(const Resolved& r, const WorkItem& work, Traffic& moved, Waiting& waiting) {
  const GpuCollective& mine = *work.collective;
  for (const GpuCollective::Stage& stage : mine.stages) {
    if (stage.fold != nullptr)
      devices_.launch(work.queue, stage.fold->launch(work.queue, r.plan));
    else
      waiting.until([&] { return devices_.collective(work.queue, mine.group, stage.call); }, r);
  }
  moved.collective_bytes += mine.bytes;
  return {.collectives = 1};
}

void Queues::submit(const Resolved& r, const WorkItem& work, Traffic& moved, Waiting& waiting) {
  const bool timed = times_ && (work.collective != nullptr || r.run != nullptr || r.what == Opcode::copy);
  if (timed) times_->before(*r.plan);
  const DeviceWork given =
      work.collective != nullptr ? submit_collective(r, work, moved, waiting) : submit_work(r, work);
  count(work.queue_info, given, moved);
  if (timed) times_->after();
  if (work.happened != nullptr) devices_.record(work.queue, work.happened);
  if (one_by_one_) wait_for_queue(work.queue, r, waiting);
}

std::size_t Queues::give_captured(std::span<const Resolved> list, Traffic& moved) {
  const WorkItem& first = item_of(list.front());
  if (first.stretch == kNone) return 0;
  Stretch& stretch = stretches_[first.stretch];
  if (!std::exchange(stretch.has_run, true)) return 0;
  list = list.first(stretch.instructions);
  if (stretch.graph == nullptr) {
    stretch.work.replays = 1;
    devices_.begin_capture(first.queue);
    for (const Resolved& r : list) stretch.work += submit_work(r, first);
    stretch.graph = devices_.end_capture(first.queue);
  }
  for (void* const event : first.after) devices_.wait(first.queue, event);
  devices_.replay(first.queue, stretch.graph.get());
  count(first.queue_info, stretch.work, moved);
  if (void* const happened = item_of(list.back()).happened; happened != nullptr) devices_.record(first.queue, happened);
  return list.size();
}

void Queues::give_checked(const Resolved& r, Traffic& moved, Waiting& waiting, NumberChecks& checks) {
  if (r.run == nullptr) return give(r, moved, waiting);
  const WorkItem& work = item_of(r);
  for (void* const event : work.after) devices_.wait(work.queue, event);
  NonFiniteInputs given;
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
  host_copies_.clear();
  for (Array& array : copies) {
    const auto bytes = static_cast<std::size_t>(array.count()) * size_of(array.dtype);
    if (array.data == nullptr || bytes == 0) continue;
    std::vector<std::byte>& copy = host_copies_.emplace_back(bytes);
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

void Queues::before_number_write(const std::int64_t& number) const {
  if (devices_.asks_for_touches())
    devices_.touches(reinterpret_cast<const std::byte*>(&number), sizeof number, true, nullptr);
}

}  // namespace ferry
