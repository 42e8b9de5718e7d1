// A simulated device. Its queues keep their work until the host asks for an event. Then they run the work that the
// event needs, and sometimes more work. The order is random (from the seed), within the order of queues and events.
// When work is submitted, vector clocks compare each of its reads and writes with earlier accesses to the same bytes.
// So a missing wait is reported in every run, in whatever order the work runs.
//
// The devices of a process can form groups. A collective is put on a queue when all members have reached it. Like other
// work, it writes its results to memory as late as allowed.
//
// The vector clocks are as in Flanagan and Freund, "FastTrack" (2009), except that whole clocks are used instead of
// epochs.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/system/machine.hpp"
#include "kernels/device.hpp"
#include "kernels/sim/context.hpp"
#include "kernels/sim/folds.hpp"
#include "kernels/sim/groups.hpp"
#include "kernels/sim/regions.hpp"

namespace ferry::sim {
namespace {

bool overlaps(const std::byte* a, std::uint64_t a_bytes, const std::byte* b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// ---- The table ----

struct Library {
  explicit Library(std::uint64_t the_seed) : seed(the_seed) {}
  std::uint64_t seed;
  GroupsOnHost groups{cpu_kernels().fold()};
};

int count(void*, const char**) {
  return kDevices;
}

const char* describe(void*, int) {
  return "simulated";
}

std::uint64_t memory_bytes(void*) {
  return memory_and_swap_bytes();
}

void* open(void* library, const DeviceShare* share, const char**) {
  auto& opened = *static_cast<Library*>(library);
  return new SimTask(opened.seed * 1'000'003 + static_cast<std::uint64_t>(share->task), opened.groups);
}

void close(void* devices) {
  delete &sim_task(devices);
}

void* allocate(void* devices, int device, std::uint64_t bytes) {
  if (!may_use(sim_task(devices), device)) return nullptr;
  if (bytes > memory_bytes(nullptr)) return nullptr;
  std::optional<Mapping> mapping = Mapping::make(bytes);
  if (!mapping) return nullptr;
  void* const device_address = mapping->device_address();
  sim_task(devices).memory.push_back(std::make_unique<SimTask::Memory>(SimTask::Memory{device, std::move(*mapping)}));
  return device_address;
}

void release(void* devices, void* memory) {
  SimTask& context = sim_task(devices);
  const auto at =
      std::ranges::find_if(context.memory, [&](const auto& m) { return m->mapping.device_address() == memory; });
  if (at == context.memory.end()) return;
  context.touches.forget((*at)->mapping.device_address(), (*at)->mapping.bytes());
  context.memory.erase(at);
}

int use_host_memory(void* devices, const void* memory, std::uint64_t bytes) {
  if (!is_ready(sim_task(devices))) return -1;
  sim_task(devices).host_memory.emplace_back(static_cast<const std::byte*>(memory), bytes);
  return 0;
}

void forget_host_memory(void* devices, const void* memory) {
  SimTask& context = sim_task(devices);
  const auto at = std::ranges::find(context.host_memory, memory, [](const auto& m) { return m.first; });
  if (at == context.host_memory.end()) return;
  context.touches.forget(at->first, at->second);
  context.host_memory.erase(at);
}

void* make_queue(void* devices, int device) {
  SimTask& context = sim_task(devices);
  if (!may_use(context, device)) return nullptr;
  auto queue = std::make_unique<SimQueue>();
  queue->context = &context;
  queue->device = device;
  queue->strand = static_cast<std::uint32_t>(context.by_strand.size());
  context.by_strand.push_back(queue.get());
  context.host.resize(context.by_strand.size(), 0);
  context.queues.push_back(std::move(queue));
  return context.queues.back().get();
}

void release_queue(void* given) {
  auto* const queue = static_cast<SimQueue*>(given);
  SimTask& context = *queue->context;
  if (context.capture && context.capture->strand == queue->strand) context.capture.reset();
  context.by_strand[queue->strand] = nullptr;
  std::erase_if(context.queues, [&](const auto& other) { return other.get() == queue; });
}

void* make_event(void* devices, int timed) {
  if (!is_ready(sim_task(devices))) return nullptr;
  auto* const event = new Event;
  event->context = &sim_task(devices);
  if (timed != 0) event->stamp = std::make_shared<TimePoint>();
  return event;
}

void release_event(void* event) {
  delete static_cast<Event*>(event);
}

int record(void* queue, void* event) {
  SimQueue& of_queue = given(queue);
  if (!is_ready(*of_queue.context)) return -1;
  auto& recorded = *static_cast<Event*>(event);
  if (recorded.stamp != nullptr) {
    Work work;
    work.stamp = recorded.stamp;
    append_work(of_queue, std::move(work), nullptr);
  }
  recorded.at = of_queue.vector_clock;
  recorded.strand = of_queue.strand;
  recorded.number = of_queue.given;
  return 0;
}

int wait(void* queue, void* event) {
  SimQueue& waiting = given(queue);
  if (!is_ready(*waiting.context)) return -1;
  const auto& recorded = *static_cast<const Event*>(event);
  if (recorded.at.empty()) return 0;
  merge_clock(waiting.vector_clock, recorded.at);
  waiting.after.emplace_back(recorded.strand, recorded.number);
  return 0;
}

int query(void* event) {
  const auto& recorded = *static_cast<const Event*>(event);
  SimTask& context = *recorded.context;
  if (is_ready(context) && !recorded.at.empty()) {
    run_until(context, recorded.strand, recorded.number);
    merge_clock(context.host, recorded.at);
  }
  return context.failure ? -1 : 1;
}

int elapsed(void* from, void* to, std::int64_t* nanoseconds) {
  const auto& first = *static_cast<const Event*>(from);
  const auto& last = *static_cast<const Event*>(to);
  SimTask& context = *first.context;
  if (!is_ready(context)) return -1;
  for (const Event* event : {&first, &last})
    if (event->stamp == nullptr || event->at.empty() || !is_done(context, event->strand, event->number))
      return fail(context, Code::bug, "elapsed() of an event that is not timed or has not happened", nullptr);
  *nanoseconds = (*last.stamp - *first.stamp).count();
  return 0;
}

/// Whether the bytes are host memory that copies may use (use_host_memory()).
bool is_host_memory(const SimTask& context, const std::byte* at, std::uint64_t bytes) {
  return bytes > 0 && std::ranges::any_of(context.host_memory, [&](const auto& host) {
           return at >= host.first && at + bytes <= host.first + host.second;
         });
}

/// Checks one end of a copy: copies may use the memory, and the access is not a race.
int touch_end(SimQueue& queue, const std::byte* at, std::uint64_t bytes, bool writes, const Moment& now) {
  SimTask& context = *queue.context;
  if (memory_of(context, at, bytes) == nullptr && !is_host_memory(context, at, bytes))
    return fail(context, Code::bug,
                "a copy " + std::string(writes ? "to" : "from") + " memory of the host that no device uses", now.tag);
  return touch(context, at, bytes, writes, now, queue.vector_clock);
}

/// Appends a copy to the queue, and checks both of its ends.
int add_copy(SimQueue& copying, Work work) {
  std::byte* const to = work.to;
  const std::byte* const from = work.from;
  const std::uint64_t bytes = work.bytes;
  const void* const tag = work.launch.tag;
  const Moment now = append_work(copying, std::move(work), tag);
  if (bytes == 0) return 0;
  if (touch_end(copying, from, bytes, false, now) != 0) return -1;
  return touch_end(copying, to, bytes, true, now);
}

/// Appends a kernel to the queue, and checks its memory accesses.
int add_kernel(SimQueue& running, Work work) {
  SimTask& context = *running.context;
  const void* const tag = work.launch.tag;
  const KernelRun& run = *work.launch.run;
  const Moment now = append_work(running, std::move(work), tag);
  const auto touch_array = [&](std::byte* data, std::uint64_t bytes, bool writes) {
    if (data == nullptr || bytes == 0) return 0;
    const SimTask::Memory* const memory = memory_of(context, data, bytes);
    if (memory == nullptr || memory->device != running.device)
      return fail(context, Code::bug,
                  "a kernel on gpu:" + std::to_string(running.device) + " is given memory of " +
                      (memory == nullptr ? "the host" : "gpu:" + std::to_string(memory->device)),
                  tag);
    return touch(context, data, bytes, writes, now, running.vector_clock);
  };
  // When the kernel runs, it reads the numbers of the step and of the iterations from memory that the host overwrites.
  const auto touch_numbers = [&](const std::int64_t* numbers, std::size_t count) {
    const auto* const at = reinterpret_cast<const std::byte*>(numbers);
    return is_host_memory(context, at, count * sizeof *numbers)
               ? touch(context, at, count * sizeof *numbers, false, now, running.vector_clock)
               : 0;
  };
  if (touch_numbers(&run.step, 1) != 0 || touch_numbers(run.iterations.data(), run.iterations.size()) != 0) return -1;
  const auto bytes_of = [](const Array& array) {
    return static_cast<std::uint64_t>(array.count()) * size_of(array.dtype);
  };
  for (const Array& input : run.inputs)
    if (touch_array(input.data, bytes_of(input), false) != 0) return -1;
  if (run.epilogue != nullptr)
    for (const Array& input : run.epilogue->inputs())
      if (touch_array(input.data, bytes_of(input), false) != 0) return -1;
  for (const Array& output : run.outputs)
    if (touch_array(output.data, bytes_of(output), true) != 0) return -1;
  return touch_array(run.scratch.data(), run.scratch.size(), true);
}

int add(SimQueue& queue, Work work) {
  return work.launch.kernel != nullptr ? add_kernel(queue, std::move(work)) : add_copy(queue, std::move(work));
}

/// Records work that is submitted to the queue during a capture.
int capture_work(SimQueue& queue, Work work) {
  SimTask& context = *queue.context;
  const auto is_here = [&](const std::byte* at) {
    const SimTask::Memory* const memory = memory_of(context, at, work.bytes);
    return memory != nullptr && memory->device == queue.device;
  };
  if (work.launch.kernel != nullptr)
    context.capture->arguments.emplace_back(*work.launch.run);
  else if (work.bytes > 0 && !(is_here(work.from) && is_here(work.to)))
    return fail(context, Code::bug, "a copy that is captured leaves gpu:" + std::to_string(queue.device),
                work.launch.tag);
  context.capture->work.push_back(std::move(work));
  return 0;
}

int submit_work(void* to, Work work) {
  SimQueue& queue = given(to);
  if (!is_ready(*queue.context, &queue)) return -1;
  return queue.context->capture ? capture_work(queue, std::move(work)) : add(queue, std::move(work));
}

int copy(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag) {
  Work work;
  work.to = static_cast<std::byte*>(to);
  work.from = static_cast<const std::byte*>(from);
  work.bytes = bytes;
  work.launch.tag = tag;
  return submit_work(queue, std::move(work));
}

int launch(void* queue, const DeviceLaunch* what) {
  Work work;
  work.launch = *what;
  return submit_work(queue, std::move(work));
}

int begin_capture(void* queue) {
  const auto& captures = *static_cast<const SimQueue*>(queue);
  SimTask& context = *captures.context;
  if (!is_ready(context)) return -1;
  context.capture = std::make_unique<CapturedGraph>();
  context.capture->context = &context;
  context.capture->strand = captures.strand;
  return 0;
}

void* end_capture(void* queue) {
  const auto& captures = *static_cast<const SimQueue*>(queue);
  SimTask& context = *captures.context;
  if (!is_ready(context, &captures)) return nullptr;
  if (!context.capture) fail(context, Code::bug, "a capture ends that has not begun", nullptr);
  return context.capture.release();
}

int replay(void* to, void* what) {
  SimQueue& queue = given(to);
  SimTask& context = *queue.context;
  if (!is_ready(context)) return -1;
  auto& graph = *static_cast<CapturedGraph*>(what);
  if (graph.strand != queue.strand)
    return fail(context, Code::bug, "a graph is replayed on another queue than that which captured it", nullptr);
  auto arguments = graph.arguments.begin();
  for (const Work& work : graph.work) {
    if (work.launch.kernel != nullptr && *arguments++ != KernelArguments(*work.launch.run))
      return fail(context, Code::bug, "the arguments of a kernel have changed since it was captured", work.launch.tag);
    if (add(queue, work) != 0) return -1;
  }
  graph.last = queue.given;
  return 0;
}

void release_graph(void* given) {
  const std::unique_ptr<CapturedGraph> graph(static_cast<CapturedGraph*>(given));
  if (!is_done(*graph->context, graph->strand, graph->last))
    fail(*graph->context, Code::bug, "a graph is released before its work is done", nullptr);
}

const DeviceFailure* failure(void* devices) {
  const std::optional<DeviceFailure>& failure = sim_task(devices).failure;
  return failure ? &*failure : nullptr;
}

int host_touches(void* devices, const void* memory, std::uint64_t bytes, int writes, const void* tag) {
  SimTask& context = sim_task(devices);
  if (context.failure) return -1;
  const auto* const at = static_cast<const std::byte*>(memory);
  const auto meets = [&](const auto& host) { return overlaps(at, bytes, host.first, host.second); };
  if (bytes == 0 || std::ranges::none_of(context.host_memory, meets)) return 0;
  return touch(context, at, bytes, writes != 0, {0, ++context.host[0], tag}, context.host);
}

constexpr DeviceTable kTable{.version = kDeviceTableVersion,
                             .size = sizeof(DeviceTable),
                             .name = "sim",
                             .shared = 0,
                             .count = count,
                             .describe = describe,
                             .memory_bytes = memory_bytes,
                             .open = open,
                             .close = close,
                             .allocate = allocate,
                             .release = release,
                             .use_host_memory = use_host_memory,
                             .forget_host_memory = forget_host_memory,
                             .make_queue = make_queue,
                             .release_queue = release_queue,
                             .make_event = make_event,
                             .release_event = release_event,
                             .record = record,
                             .wait = wait,
                             .query = query,
                             .elapsed = elapsed,
                             .copy = copy,
                             .launch = launch,
                             .begin_capture = begin_capture,
                             .end_capture = end_capture,
                             .replay = replay,
                             .release_graph = release_graph,
                             .failure = failure,
                             .group_domain = group_domain,
                             .name_group = name_group,
                             .join_group = join_group,
                             .joined = joined,
                             .abandon_group = abandon_group,
                             .leave_group = leave_group,
                             .collective = collective,
                             .host_touches = host_touches};

/// The CPU's kernels except for kernels with an effect, and the fold kernels. The copies lack the abilities that need
/// the host's memory and caches.
struct SimKernels {
  explicit SimKernels(const KernelTable& cpu) : table(DeviceKind::gpu, cpu.level(), cpu.library(), cpu.fold()) {
    for (const Kernel* kernel : cpu.all()) {
      if (kernel->effect) continue;
      Kernel copy = *kernel;
      copy.streams = false;
      copy.row = nullptr;
      copy.packing = {};
      // Kernels of integers may reject values. Only the kernel of a single op reports them well, so integers are not
      // fused.
      if (copy.elementwise && copy.prepare == nullptr) copy.scalar = {"of the CPU", kFloats | DTypeSet{DType::boolean}};
      kernels.push_back(copy);
    }
    std::ranges::copy(fold_kernels(), std::back_inserter(kernels));
    table.add(kernels);
  }
  std::vector<Kernel> kernels;
  KernelTable table;
};

}  // namespace
}  // namespace ferry::sim

namespace ferry {

DeviceLibrary simulated_devices(std::uint64_t seed) {
  return {&sim::kTable, std::make_shared<sim::Library>(seed),
          [](const KernelTable& cpu) {
            const auto made = std::make_shared<sim::SimKernels>(cpu);
            return std::shared_ptr<const KernelTable>(made, &made->table);
          },
          [](void*, int, std::span<const FusedKernels> all, int) { return sim::one_by_one(all); }};
}

}  // namespace ferry
