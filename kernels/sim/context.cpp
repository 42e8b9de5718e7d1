#include "kernels/sim/context.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

namespace ferry::sim {

int fail(SimTask& context, Code code, std::string text, const void* tag, std::int64_t input) {
  if (!context.failure) {
    context.text = std::move(text);
    context.failure = DeviceFailure{tag, static_cast<std::int32_t>(code), input, context.text.c_str()};
  }
  return -1;
}

void merge_clock(VectorClock& clock, const VectorClock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

std::string name_of(const SimTask& context, std::uint32_t strand) {
  if (strand == 0) return "the host";
  const SimQueue* const queue = context.by_strand[strand];
  return "queue " + std::to_string(strand) + (queue == nullptr ? "" : " of gpu:" + std::to_string(queue->device));
}

const SimTask::Memory* memory_of(const SimTask& context, const std::byte* at, std::uint64_t bytes) {
  for (const auto& memory : context.memory) {
    const Mapping& mapping = memory->mapping;
    if (at >= mapping.device_address() && at < mapping.device_address() + mapping.bytes())
      return at + bytes <= mapping.device_address() + mapping.bytes() ? memory.get() : nullptr;
  }
  return nullptr;
}

int touch(SimTask& context, const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
          const VectorClock& clock) {
  const auto race = context.touches.touch(memory, bytes, writes, now, clock);
  if (!race) return 0;
  return fail(context, Code::bug,
              std::string("the simulated device has found a race: ") + name_of(context, now.strand) +
                  (writes ? " writes" : " reads") + " memory that " + name_of(context, race->earlier.strand) +
                  (race->written ? " has written" : " has read") + ", and nothing orders the one after the other",
              now.tag);
}

std::byte* host_address(const SimTask& context, std::byte* at) {
  if (at == nullptr) return nullptr;
  const SimTask::Memory* const memory = memory_of(context, at, 0);
  return memory == nullptr ? at : memory->mapping.host_address() + (at - memory->mapping.device_address());
}

namespace {

void run_kernel(const SimTask& context, const Work& work) {
  const KernelRun& given = *work.launch.run;
  std::vector<Array> inputs(given.inputs.begin(), given.inputs.end()),
      outputs(given.outputs.begin(), given.outputs.end());
  for (auto* arrays : {&inputs, &outputs})
    for (Array& array : *arrays) array.data = host_address(context, array.data);
  KernelRun run{.inputs = inputs,
                .outputs = outputs,
                .state = given.state,
                .scratch = {host_address(context, given.scratch.data()), given.scratch.size()},
                .parallel = given.parallel,
                .step = given.step,
                .iterations = given.iterations};
  work.launch.kernel(run);
  if (given.epilogue == nullptr) return;
  const DeviceEpilogue& epilogue = *given.epilogue;
  std::vector<Array> arrays = epilogue.arrays;
  for (Array& array : arrays) array.data = host_address(context, array.data);
  run.inputs = std::span(arrays).first(epilogue.kernels.inputs);
  run.outputs = std::span(arrays).last(1);
  run.state = epilogue.generated.state.get();
  epilogue.generated.run(run);
}

void run_first(SimTask& context, SimQueue& queue) {
  const Work work = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  ++queue.done;
  if (context.failure) return;
  if (work.stamp != nullptr) *work.stamp = system_clock().now();
  try {
    if (work.launch.kernel != nullptr)
      run_kernel(context, work);
    else if (!work.results.empty())
      for (const GroupsOnHost::Result& result : work.results)
        std::memcpy(host_address(context, result.to), result.bytes.data(), result.bytes.size());
    else if (work.bytes > 0)
      std::memcpy(host_address(context, work.to), host_address(context, const_cast<std::byte*>(work.from)), work.bytes);
  } catch (const BadValue& bad) {
    fail(context, bad.code(), bad.text(), work.launch.tag, static_cast<std::int64_t>(bad.input()));
  } catch (...) {
    const Error error = as_error(std::current_exception(), Code::program, "its code");
    fail(context, error.code(), error.text(), work.launch.tag);
  }
}

}  // namespace

bool is_done(const SimTask& context, std::uint32_t strand, std::uint32_t number) {
  const SimQueue* const queue = context.by_strand[strand];
  return queue == nullptr || queue->done >= number;
}

namespace {

bool may_run(const SimTask& context, const SimQueue& queue) {
  return !queue.waiting.empty() && std::ranges::all_of(queue.waiting.front().after, [&](const auto& after) {
    return is_done(context, after.first, after.second);
  });
}

/// The queues whose unfinished work must run so that work item `number` of `strand` can be done, including work that it
/// waits for.
std::vector<SimQueue*> needed_for(const SimTask& context, std::uint32_t strand, std::uint32_t number) {
  std::vector<std::uint32_t> until(context.by_strand.size(), 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{strand, number}};
  while (!open.empty()) {
    const auto [s, n] = open.back();
    open.pop_back();
    const SimQueue* const queue = context.by_strand[s];
    if (queue == nullptr || until[s] >= n) continue;
    for (const Work& work : queue->waiting)
      if (work.number > until[s] && work.number <= n) open.insert(open.end(), work.after.begin(), work.after.end());
    until[s] = n;
  }
  std::vector<SimQueue*> queues;
  for (std::uint32_t s = 1; s < until.size(); ++s)
    if (until[s] > 0 && !is_done(context, s, until[s])) queues.push_back(context.by_strand[s]);
  return queues;
}

}  // namespace

void run_until(SimTask& context, std::uint32_t strand, std::uint32_t number) {
  while (!is_done(context, strand, number)) {
    std::vector<SimQueue*> choice = needed_for(context, strand, number);
    if (context.random() % 4 == 0) {
      choice.clear();
      for (const auto& queue : context.queues) choice.push_back(queue.get());
    }
    std::erase_if(choice, [&](const SimQueue* queue) { return !may_run(context, *queue); });
    if (choice.empty()) continue;  // draw again: at least one of the needed queues can always run
    run_first(context, *choice[context.random() % choice.size()]);
  }
}

SimTask& sim_task(void* devices) {
  return *static_cast<SimTask*>(devices);
}

bool is_ready(SimTask& context, const SimQueue* queue) {
  if (context.capture && (queue == nullptr || queue->strand != context.capture->strand))
    fail(context, Code::bug,
         "while " + name_of(context, context.capture->strand) + " captures its work, something else is asked for",
         nullptr);
  return !context.failure;
}

bool may_use(SimTask& context, int device) {
  if (is_ready(context) && (device < 0 || device >= kDevices))
    fail(context, Code::bug, "there is no gpu:" + std::to_string(device), nullptr);
  return !context.failure;
}

SimQueue& given(void* queue) {
  auto& to = *static_cast<SimQueue*>(queue);
  merge_clock(to.vector_clock, to.context->host);
  return to;
}

Moment append_work(SimQueue& queue, Work work, const void* tag) {
  work.number = ++queue.given;
  work.after = std::exchange(queue.after, {});
  if (queue.vector_clock.size() <= queue.strand) queue.vector_clock.resize(queue.strand + 1, 0);
  queue.vector_clock[queue.strand] = work.number;
  queue.waiting.push_back(std::move(work));
  return {queue.strand, queue.given, tag};
}

}  // namespace ferry::sim
