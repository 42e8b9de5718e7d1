// A simulated device. Its queues keep their work until the host asks for an event; then they run as little as that
// needs, or now and then more, in a random order (from the seed) that queues and events allow. Besides, when work is
// submitted, each of its reads and writes is checked by vector clocks against earlier accesses to the same bytes: so a
// missing wait is reported in every run, whatever order is drawn. Devices of a process form groups; a collective is
// given to a queue when all members have come to it, and what it leaves in memory is written as late as other work's.
//
// Vector clocks as in Flanagan and Freund, "FastTrack" (2009), but always whole clocks instead of epochs.
#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/limits.hpp"
#include "kernels/device.hpp"
#include "kernels/shared/group_on_host.hpp"
#include "kernels/sim/memory.hpp"

namespace ferry {
namespace {

using sim::Knowledge;
using sim::Mapping;
using sim::Moment;
using sim::Touches;

constexpr int kDevices = 8;

struct Context;

/// A queue's work item: a kernel, a copy or the results of a collective.
struct Work {
  std::uint32_t number = 0;  ///< its number on its queue, from 1
  DeviceLaunch launch{};     ///< for a copy `kernel` is null
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::vector<GroupsOnHost::Result> results;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after;  ///< strand and number of work that must be done first
};

/// What a kernel is given, but for its operands' elements.
struct Arguments {
  explicit Arguments(const KernelRun& run)
      : state_(run.state), scratch_(run.scratch.data()), step_(&run.step), iterations_(run.iterations.data()) {
    for (const std::span<const Array> arrays : {run.inputs, std::span<const Array>(run.outputs)})
      for (const Array& array : arrays)
        arrays_.push_back({array.data, array.dtype, {array.sizes.begin(), array.sizes.end()}});
  }
  bool operator==(const Arguments&) const = default;

 private:
  struct Given {
    const std::byte* data;
    DType dtype;
    std::vector<std::int64_t> sizes;
    bool operator==(const Given&) const = default;
  };
  const KernelState* state_;
  const std::byte* scratch_;
  const std::int64_t *step_, *iterations_;
  std::vector<Given> arrays_;
};

/// What a queue has captured.
struct CapturedGraph {
  Context* context = nullptr;
  std::uint32_t strand = 0;  ///< the queue's
  std::vector<Work> work;
  std::vector<Arguments> arguments;  ///< of the kernels in `work`
  std::uint32_t last = 0;            ///< number of the last work item that it has given the queue
};

struct Queue {
  Context* context = nullptr;
  int device = 0;
  std::uint32_t strand = 0;
  Knowledge knows;  ///< what is ordered before the next work item
  std::uint32_t given = 0, done = 0;
  std::deque<Work> waiting;                                    ///< work that is not done yet
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after;  ///< Work::after of the next work item
};

struct Event {
  Context* context = nullptr;
  Knowledge at;  ///< what has happened when the event has; empty: never recorded
  std::uint32_t strand = 0, number = 0;
};

/// What a task has opened.
struct Context {
  Context(std::uint64_t seed, GroupsOnHost& groups) : random(seed), groups(groups), host(1, 0) {}

  std::mt19937_64 random;
  GroupsOnHost& groups;
  Knowledge host;  ///< what the host knows; its own entry counts its accesses
  std::list<std::unique_ptr<Queue>> queues;
  std::vector<Queue*> by_strand{nullptr};  ///< null: the host, or a queue that is gone
  struct Memory {
    int device;
    Mapping mapping;
  };
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<std::pair<const std::byte*, std::uint64_t>> host_memory;
  Touches touches;
  std::map<int, Moment> last_collective;   ///< by device
  std::unique_ptr<CapturedGraph> capture;  ///< what is being captured; null: nothing is
  std::optional<DeviceFailure> failure;
  std::string text;
};

bool overlaps(const std::byte* a, std::uint64_t a_bytes, const std::byte* b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

int fail(Context& context, Code code, std::string text, const void* tag, std::int64_t input = -1) {
  if (!context.failure) {
    context.text = std::move(text);
    context.failure = DeviceFailure{tag, static_cast<std::int32_t>(code), input, context.text.c_str()};
  }
  return -1;
}

void learn(Knowledge& clock, const Knowledge& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

std::string name_of(const Context& context, std::uint32_t strand) {
  if (strand == 0) return "the host";
  const Queue* const queue = context.by_strand[strand];
  return "queue " + std::to_string(strand) + (queue == nullptr ? "" : " of gpu:" + std::to_string(queue->device));
}

/// The device memory that has all these bytes; null: none.
const Context::Memory* memory_of(const Context& context, const std::byte* at, std::uint64_t bytes) {
  for (const auto& memory : context.memory) {
    const Mapping& mapping = memory->mapping;
    if (at >= mapping.known() && at < mapping.known() + mapping.bytes())
      return at + bytes <= mapping.known() + mapping.bytes() ? memory.get() : nullptr;
  }
  return nullptr;
}

int touch(Context& context, const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
          const Knowledge& clock) {
  const auto race = context.touches.touch(memory, bytes, writes, now, clock);
  if (!race) return 0;
  return fail(context, Code::bug,
              std::string("the simulated device has found a race: ") + name_of(context, now.strand) +
                  (writes ? " writes" : " reads") + " memory that " + name_of(context, race->earlier.strand) +
                  (race->written ? " has written" : " has read") + ", and nothing orders the one after the other",
              now.tag);
}

// ---- Running ----

std::byte* real(const Context& context, std::byte* at) {
  if (at == nullptr) return nullptr;
  const Context::Memory* const memory = memory_of(context, at, 0);
  return memory == nullptr ? at : memory->mapping.real() + (at - memory->mapping.known());
}

void run_kernel(const Context& context, const Work& work) {
  const KernelRun& given = *work.launch.run;
  std::vector<Array> inputs(given.inputs.begin(), given.inputs.end()),
      outputs(given.outputs.begin(), given.outputs.end());
  for (auto* arrays : {&inputs, &outputs})
    for (Array& array : *arrays) array.data = real(context, array.data);
  KernelRun run{.inputs = inputs,
                .outputs = outputs,
                .state = given.state,
                .scratch = {real(context, given.scratch.data()), given.scratch.size()},
                .parallel = given.parallel,
                .step = given.step,
                .iterations = given.iterations};
  work.launch.kernel(run);
}

void run_first(Context& context, Queue& queue) {
  const Work work = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  ++queue.done;
  if (context.failure) return;
  try {
    if (work.launch.kernel != nullptr)
      run_kernel(context, work);
    else if (!work.results.empty())
      for (const GroupsOnHost::Result& result : work.results)
        std::memcpy(real(context, result.to), result.bytes.data(), result.bytes.size());
    else if (work.bytes > 0)
      std::memcpy(real(context, work.to), real(context, const_cast<std::byte*>(work.from)), work.bytes);
  } catch (const BadValue& bad) {
    fail(context, bad.code(), bad.text(), work.launch.tag, static_cast<std::int64_t>(bad.input()));
  } catch (...) {
    const Error error = as_error(std::current_exception(), Code::program, "its code");
    fail(context, error.code(), error.text(), work.launch.tag);
  }
}

bool is_done(const Context& context, std::uint32_t strand, std::uint32_t number) {
  const Queue* const queue = context.by_strand[strand];
  return queue == nullptr || queue->done >= number;
}

bool may_run(const Context& context, const Queue& queue) {
  return !queue.waiting.empty() && std::ranges::all_of(queue.waiting.front().after, [&](const auto& after) {
    return is_done(context, after.first, after.second);
  });
}

/// The queues that have undone work up to and including work item `number` of `strand`, or that such work waits for.
std::vector<Queue*> needed_for(const Context& context, std::uint32_t strand, std::uint32_t number) {
  std::vector<std::uint32_t> until(context.by_strand.size(), 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{strand, number}};
  while (!open.empty()) {
    const auto [s, n] = open.back();
    open.pop_back();
    const Queue* const queue = context.by_strand[s];
    if (queue == nullptr || until[s] >= n) continue;
    for (const Work& work : queue->waiting)
      if (work.number > until[s] && work.number <= n) open.insert(open.end(), work.after.begin(), work.after.end());
    until[s] = n;
  }
  std::vector<Queue*> queues;
  for (std::uint32_t s = 1; s < until.size(); ++s)
    if (until[s] > 0 && !is_done(context, s, until[s])) queues.push_back(context.by_strand[s]);
  return queues;
}

/// Runs work in random order until work item `number` of `strand` is done, now and then also work that is not needed.
void run_until(Context& context, std::uint32_t strand, std::uint32_t number) {
  while (!is_done(context, strand, number)) {
    std::vector<Queue*> choice = needed_for(context, strand, number);
    if (context.random() % 4 == 0) {
      choice.clear();
      for (const auto& queue : context.queues) choice.push_back(queue.get());
    }
    std::erase_if(choice, [&](const Queue* queue) { return !may_run(context, *queue); });
    if (choice.empty()) continue;  // draw again: of the needed queues at least one can always run
    run_first(context, *choice[context.random() % choice.size()]);
  }
}

// ---- The table ----

struct Library {
  std::uint64_t seed = 0;
  GroupsOnHost groups{cpu_kernels().fold()};
};

Context& of(void* devices) {
  return *static_cast<Context*>(devices);
}

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
  return new Context(opened.seed * 1'000'003 + static_cast<std::uint64_t>(share->task), opened.groups);
}

void close(void* devices) {
  delete &of(devices);
}

/// Whether nothing has failed, and nothing is being captured but by this queue.
bool is_ready(Context& context, const Queue* queue = nullptr) {
  if (context.capture && (queue == nullptr || queue->strand != context.capture->strand))
    fail(context, Code::bug,
         "while " + name_of(context, context.capture->strand) + " captures its work, something else is asked for",
         nullptr);
  return !context.failure;
}

/// Whether that is so, and the library has the device.
bool may_use(Context& context, int device) {
  if (is_ready(context) && (device < 0 || device >= kDevices))
    fail(context, Code::bug, "there is no gpu:" + std::to_string(device), nullptr);
  return !context.failure;
}

void* allocate(void* devices, int device, std::uint64_t bytes) {
  if (!may_use(of(devices), device)) return nullptr;
  if (bytes > memory_bytes(nullptr)) return nullptr;
  std::optional<Mapping> mapping = Mapping::make(bytes);
  if (!mapping) return nullptr;
  void* const known = mapping->known();
  of(devices).memory.push_back(std::make_unique<Context::Memory>(Context::Memory{device, std::move(*mapping)}));
  return known;
}

void release(void* devices, void* memory) {
  Context& context = of(devices);
  const auto at = std::ranges::find_if(context.memory, [&](const auto& m) { return m->mapping.known() == memory; });
  if (at == context.memory.end()) return;
  context.touches.forget((*at)->mapping.known(), (*at)->mapping.bytes());
  context.memory.erase(at);
}

int use_host_memory(void* devices, const void* memory, std::uint64_t bytes) {
  if (!is_ready(of(devices))) return -1;
  of(devices).host_memory.emplace_back(static_cast<const std::byte*>(memory), bytes);
  return 0;
}

void forget_host_memory(void* devices, const void* memory) {
  Context& context = of(devices);
  const auto at = std::ranges::find(context.host_memory, memory, [](const auto& m) { return m.first; });
  if (at == context.host_memory.end()) return;
  context.touches.forget(at->first, at->second);
  context.host_memory.erase(at);
}

void* make_queue(void* devices, int device) {
  Context& context = of(devices);
  if (!may_use(context, device)) return nullptr;
  auto queue = std::make_unique<Queue>();
  queue->context = &context;
  queue->device = device;
  queue->strand = static_cast<std::uint32_t>(context.by_strand.size());
  context.by_strand.push_back(queue.get());
  context.host.resize(context.by_strand.size(), 0);
  context.queues.push_back(std::move(queue));
  return context.queues.back().get();
}

void release_queue(void* given) {
  auto* const queue = static_cast<Queue*>(given);
  Context& context = *queue->context;
  if (context.capture && context.capture->strand == queue->strand) context.capture.reset();
  context.by_strand[queue->strand] = nullptr;
  std::erase_if(context.queues, [&](const auto& other) { return other.get() == queue; });
}

void* make_event(void* devices) {
  if (!is_ready(of(devices))) return nullptr;
  auto* const event = new Event;
  event->context = &of(devices);
  return event;
}

void release_event(void* event) {
  delete static_cast<Event*>(event);
}

/// Called when a queue is given something: that comes after all that the host knows to be done.
Queue& given(void* queue) {
  auto& to = *static_cast<Queue*>(queue);
  learn(to.knows, to.context->host);
  return to;
}

int record(void* queue, void* event) {
  const Queue& of_queue = given(queue);
  if (!is_ready(*of_queue.context)) return -1;
  auto& recorded = *static_cast<Event*>(event);
  recorded.at = of_queue.knows;
  recorded.strand = of_queue.strand;
  recorded.number = of_queue.given;
  return 0;
}

int wait(void* queue, void* event) {
  Queue& waiting = given(queue);
  if (!is_ready(*waiting.context)) return -1;
  const auto& recorded = *static_cast<const Event*>(event);
  if (recorded.at.empty()) return 0;
  learn(waiting.knows, recorded.at);
  waiting.after.emplace_back(recorded.strand, recorded.number);
  return 0;
}

int query(void* event) {
  const auto& recorded = *static_cast<const Event*>(event);
  Context& context = *recorded.context;
  if (is_ready(context) && !recorded.at.empty()) {
    run_until(context, recorded.strand, recorded.number);
    learn(context.host, recorded.at);
  }
  return context.failure ? -1 : 1;
}

/// Appends the work to the queue, and returns its moment there.
Moment put(Queue& queue, Work work, const void* tag) {
  work.number = ++queue.given;
  work.after = std::exchange(queue.after, {});
  if (queue.knows.size() <= queue.strand) queue.knows.resize(queue.strand + 1, 0);
  queue.knows[queue.strand] = work.number;
  queue.waiting.push_back(std::move(work));
  return {queue.strand, queue.given, tag};
}

/// Whether the bytes are host memory that copies may use (use_host_memory()).
bool is_host_memory(const Context& context, const std::byte* at, std::uint64_t bytes) {
  return bytes > 0 && std::ranges::any_of(context.host_memory, [&](const auto& host) {
           return at >= host.first && at + bytes <= host.first + host.second;
         });
}

/// Checks one end of a copy: whether it is memory that a copy may use, and whether the access is a race.
int touch_end(Queue& queue, const std::byte* at, std::uint64_t bytes, bool writes, const Moment& now) {
  Context& context = *queue.context;
  if (memory_of(context, at, bytes) == nullptr && !is_host_memory(context, at, bytes))
    return fail(context, Code::bug,
                "a copy " + std::string(writes ? "to" : "from") + " memory of the host that no device uses", now.tag);
  return touch(context, at, bytes, writes, now, queue.knows);
}

/// Appends a copy to the queue, and checks both of its ends.
int add_copy(Queue& copying, Work work) {
  std::byte* const to = work.to;
  const std::byte* const from = work.from;
  const std::uint64_t bytes = work.bytes;
  const void* const tag = work.launch.tag;
  const Moment now = put(copying, std::move(work), tag);
  if (bytes == 0) return 0;
  if (touch_end(copying, from, bytes, false, now) != 0) return -1;
  return touch_end(copying, to, bytes, true, now);
}

/// Appends a kernel to the queue, and checks what it touches.
int add_kernel(Queue& running, Work work) {
  Context& context = *running.context;
  const void* const tag = work.launch.tag;
  const KernelRun& run = *work.launch.run;
  const Moment now = put(running, std::move(work), tag);
  const auto touch_array = [&](std::byte* data, std::uint64_t bytes, bool writes) {
    if (data == nullptr || bytes == 0) return 0;
    const Context::Memory* const memory = memory_of(context, data, bytes);
    if (memory == nullptr || memory->device != running.device)
      return fail(context, Code::bug,
                  "a kernel on gpu:" + std::to_string(running.device) + " is given memory of " +
                      (memory == nullptr ? "the host" : "gpu:" + std::to_string(memory->device)),
                  tag);
    return touch(context, data, bytes, writes, now, running.knows);
  };
  // The kernel reads the numbers of the step and of iterations when it runs, from memory that the host overwrites.
  const auto touch_numbers = [&](const std::int64_t* numbers, std::size_t count) {
    const auto* const at = reinterpret_cast<const std::byte*>(numbers);
    return is_host_memory(context, at, count * sizeof *numbers)
               ? touch(context, at, count * sizeof *numbers, false, now, running.knows)
               : 0;
  };
  if (touch_numbers(&run.step, 1) != 0 || touch_numbers(run.iterations.data(), run.iterations.size()) != 0) return -1;
  const auto bytes_of = [](const Array& array) {
    return static_cast<std::uint64_t>(array.count()) * size_of(array.dtype);
  };
  for (const Array& input : run.inputs)
    if (touch_array(input.data, bytes_of(input), false) != 0) return -1;
  for (const Array& output : run.outputs)
    if (touch_array(output.data, bytes_of(output), true) != 0) return -1;
  return touch_array(run.scratch.data(), run.scratch.size(), true);
}

int add(Queue& queue, Work work) {
  return work.launch.kernel != nullptr ? add_kernel(queue, std::move(work)) : add_copy(queue, std::move(work));
}

/// Keeps work that the queue is given while it captures.
int keep(Queue& queue, Work work) {
  Context& context = *queue.context;
  const auto is_here = [&](const std::byte* at) {
    const Context::Memory* const memory = memory_of(context, at, work.bytes);
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

int give(void* to, Work work) {
  Queue& queue = given(to);
  if (!is_ready(*queue.context, &queue)) return -1;
  return queue.context->capture ? keep(queue, std::move(work)) : add(queue, std::move(work));
}

int copy(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag) {
  Work work;
  work.to = static_cast<std::byte*>(to);
  work.from = static_cast<const std::byte*>(from);
  work.bytes = bytes;
  work.launch.tag = tag;
  return give(queue, std::move(work));
}

int launch(void* queue, const DeviceLaunch* what) {
  Work work;
  work.launch = *what;
  return give(queue, std::move(work));
}

int begin_capture(void* queue) {
  const auto& captures = *static_cast<const Queue*>(queue);
  Context& context = *captures.context;
  if (!is_ready(context)) return -1;
  context.capture = std::make_unique<CapturedGraph>();
  context.capture->context = &context;
  context.capture->strand = captures.strand;
  return 0;
}

void* end_capture(void* queue) {
  const auto& captures = *static_cast<const Queue*>(queue);
  Context& context = *captures.context;
  if (!is_ready(context, &captures)) return nullptr;
  if (!context.capture) fail(context, Code::bug, "a capture ends that has not begun", nullptr);
  return context.capture.release();
}

int replay(void* to, void* what) {
  Queue& queue = given(to);
  Context& context = *queue.context;
  if (!is_ready(context)) return -1;
  auto& graph = *static_cast<CapturedGraph*>(what);
  if (graph.strand != queue.strand)
    return fail(context, Code::bug, "a graph is replayed on another queue than that which captured it", nullptr);
  auto arguments = graph.arguments.begin();
  for (const Work& work : graph.work) {
    if (work.launch.kernel != nullptr && *arguments++ != Arguments(*work.launch.run))
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

// ---- Groups ----

struct Member {
  Context* context = nullptr;
  int device = 0;
  std::shared_ptr<GroupsOnHost::Member> member;
};

std::uint64_t group_domain(void*, const char**) {
  return GroupsOnHost::domain();
}

int name_group(void* devices, DeviceGroupName* name) {
  if (of(devices).failure) return -1;
  *name = of(devices).groups.name();
  return 0;
}

void* join_group(void* devices, int device, const DeviceGroupName* name, int members, int member) {
  Context& context = of(devices);
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

/// Checks what a member of a collective reads or writes.
int touch_collective(Queue& queue, const void* memory, std::uint64_t bytes, bool writes, const Moment& now) {
  Context& context = *queue.context;
  if (bytes == 0) return 0;
  const auto* const at = static_cast<const std::byte*>(memory);
  const Context::Memory* const found = memory_of(context, at, bytes);
  if (found == nullptr || found->device != queue.device)
    return fail(context, Code::bug, "a collective on gpu:" + std::to_string(queue.device) + " is given other memory",
                now.tag);
  return touch(context, at, bytes, writes, now, queue.knows);
}

/// The bytes of the input or output of a member, but of an exchange.
std::uint64_t bytes_of(const DeviceCollective& what, std::size_t members, bool output) {
  using Kind = DeviceCollective::Kind;
  const bool of_all = what.kind == (output ? Kind::all_gather : Kind::reduce_scatter);
  return what.count * size_of(what.dtype) * (of_all ? members : 1);
}

int touch_all(Queue& queue, const DeviceCollective& what, std::size_t members, const Moment& now) {
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

/// Runs all that comes before the queue's next work.
void catch_up(Context& context, const Queue& queue) {
  for (const auto& [strand, number] : queue.after) run_until(context, strand, number);
  run_until(context, queue.strand, queue.given);
}

int collective(void* queue, void* group, const DeviceCollective* what) {
  Queue& running = given(queue);
  Context& context = *running.context;
  Member& member = *static_cast<Member*>(group);
  if (!is_ready(context)) return -1;
  if (!member.member->posted) {
    if (const auto last = context.last_collective.find(running.device); last != context.last_collective.end()) {
      const Moment& before = last->second;
      if (before.strand != running.strand &&
          (running.knows.size() <= before.strand || running.knows[before.strand] < before.number))
        return fail(context, Code::bug,
                    "the simulated device has found collectives of gpu:" + std::to_string(running.device) +
                        " that nothing orders, on " + name_of(context, before.strand) + " and " +
                        name_of(context, running.strand),
                    what->tag);
    }
    catch_up(context, running);
    if (context.failure) return -1;
  }
  try {
    auto results = context.groups.meet(*member.member, *what, [&](const void* at) {
      return real(context, static_cast<std::byte*>(const_cast<void*>(at)));
    });
    if (!results) return 1;
    Work work;
    work.launch.tag = what->tag;
    work.results = std::move(*results);
    const Moment now = put(running, std::move(work), what->tag);
    context.last_collective.insert_or_assign(running.device, now);
    return touch_all(running, *what, GroupsOnHost::members(*member.member), now);
  } catch (const Error& error) {
    return fail(context, error.code(), std::string(error.text()), what->tag);
  }
}

const DeviceFailure* failure(void* devices) {
  const std::optional<DeviceFailure>& failure = of(devices).failure;
  return failure ? &*failure : nullptr;
}

int host_touches(void* devices, const void* memory, std::uint64_t bytes, int writes, const void* tag) {
  Context& context = of(devices);
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

/// The CPU's kernels, except for those with an effect, and without the abilities that need the host's memory and
/// caches.
struct SimKernels {
  explicit SimKernels(const KernelTable& cpu) : table(DeviceKind::gpu, cpu.level(), cpu.library(), cpu.fold()) {
    for (const Kernel* kernel : cpu.all()) {
      if (kernel->effect) continue;
      Kernel copy = *kernel;
      copy.streams = false;
      copy.row = nullptr;
      copy.finishes = false;
      copy.packing = {};
      kernels.push_back(copy);
    }
    table.add(kernels);
  }
  std::vector<Kernel> kernels;
  KernelTable table;
};

}  // namespace

DeviceLibrary simulated_devices(std::uint64_t seed) {
  return {&kTable, std::make_shared<Library>(seed), [](const KernelTable& cpu) {
            const auto made = std::make_shared<SimKernels>(cpu);
            return std::shared_ptr<const KernelTable>(made, &made->table);
          }};
}

}  // namespace ferry
