// The DeviceTable of CUDA devices (kernels/device.hpp), over the runtime (runtime.hpp).
#include "kernels/cuda/devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/cuda/group/nccl.hpp"
#include "kernels/cuda/image/dnn.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/product/blas.hpp"
#include "kernels/cuda/queue.hpp"
#include "kernels/cuda/region/compiler.hpp"
#include "kernels/cuda/region/region.hpp"
#include "kernels/cuda/runtime.hpp"

namespace ferry::cuda {
namespace {

const auto kPage = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

/// The pages of the host's memory that tasks of this process have locked. A page can be locked only once, and two
/// pieces of memory may share it. Thread-safe.
class PageLocks {
 public:
  /// Locks the pages of the memory that are not locked yet. Appends the begin of each run of locked pages in the memory
  /// to `runs`. Returns 0 or an error of the runtime.
  int add(std::uintptr_t begin, std::uintptr_t end, std::vector<std::uintptr_t>& runs) {
    const std::lock_guard guard(mutex_);
    std::uintptr_t page = begin / kPage * kPage;
    end = (end + kPage - 1) / kPage * kPage;
    auto at = all_.upper_bound(page);
    if (at != all_.begin() && std::prev(at)->second.end > page) --at;
    for (; page < end; ++at) {
      const std::uintptr_t until = at == all_.end() ? end : std::min(at->first, end);
      if (page < until) {
        if (const int error = runtime::lock(reinterpret_cast<void*>(page), until - page); error != 0) return error;
        at = all_.emplace(page, Run{until, 0}).first;
      }
      ++at->second.users;
      runs.push_back(at->first);
      page = at->second.end;
    }
    return 0;
  }
  void drop(const std::vector<std::uintptr_t>& runs) {
    const std::lock_guard guard(mutex_);
    for (const std::uintptr_t first : runs) {
      const auto at = all_.find(first);
      if (--at->second.users > 0) continue;
      runtime::unlock(reinterpret_cast<void*>(first));
      all_.erase(at);
    }
  }
  /// Calls runtime::copy() for pieces. Each piece is inside one run of locked pages, or has no locked page: CUDA
  /// refuses other pieces. No pages are locked or unlocked during the call.
  int copy(void* stream, void* to, const void* from, std::uint64_t bytes) {
    const std::lock_guard guard(mutex_);
    auto* next = static_cast<std::byte*>(to);
    for (const auto* at = static_cast<const std::byte*>(from); bytes > 0;) {
      const std::uint64_t piece = std::min(bytes_in_one_run(next, bytes), bytes_in_one_run(at, bytes));
      if (const int error = runtime::copy(stream, next, at, piece); error != 0) return error;
      next += piece;
      at += piece;
      bytes -= piece;
    }
    return 0;
  }

 private:
  struct Run {
    std::uintptr_t end;
    int users;
  };
  /// The number of bytes from `memory` on, at most `bytes`, that are all in one run or all in no run.
  [[nodiscard]] std::uint64_t bytes_in_one_run(const void* memory, std::uint64_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const auto after = all_.upper_bound(begin);
    if (after != all_.begin())
      if (const std::uintptr_t end = std::prev(after)->second.end; end > begin) return std::min(bytes, end - begin);
    return after == all_.end() ? bytes : std::min(bytes, after->first - begin);
  }
  std::mutex mutex_;
  std::map<std::uintptr_t, Run> all_;  // by first address
};

PageLocks& page_locks() {
  static PageLocks locks;
  return locks;
}

struct QueueOfDevice;
struct Member;

/// The devices of one task.
struct Context {
  std::vector<int> numbers;                                        ///< by the task's device: CUDA's number
  BadRecord* bad = nullptr;                                        ///< array with a record for each device
  std::vector<std::int32_t*> claimed;                              ///< by device: BadReport::claimed
  std::multimap<const void*, std::vector<std::uintptr_t>> locked;  ///< begins of page runs, by address of the memory
  std::map<void*, int> memory;                                     ///< the device of each allocation
  std::vector<std::unique_ptr<QueueOfDevice>> queues;
  std::vector<std::unique_ptr<Member>> members;
  std::string text;
  std::optional<DeviceFailure> failure;
};

struct QueueOfDevice : Queue {
  Context* context = nullptr;
  int device = 0;         ///< CUDA's number
  bool captures = false;  ///< submitted work is captured, not run
};

/// The work that a queue has captured.
struct CapturedGraph {
  void* graph = nullptr;  ///< cudaGraphExec_t
  int device = 0;
};

struct Event {
  Context* context = nullptr;
  void* event = nullptr;  ///< made on the device that records it first; null: never recorded
  int device = 0;
  bool timed = false;
};

/// A device as the member of a group.
struct Member {
  Context* context = nullptr;
  int device = 0;  ///< CUDA's number
  void* member = nullptr;
};

int fail(Context& context, Code code, std::string text, const void* tag = nullptr, std::int64_t input = -1) {
  if (context.failure) return -1;
  context.text = std::move(text);
  context.failure = DeviceFailure{tag, static_cast<std::int32_t>(code), input, context.text.c_str()};
  return -1;
}

/// Records a failure with the runtime's text, unless `error` is 0. `what` names the failed action.
int require(Context& context, int error, const char* what, const void* tag = nullptr) {
  if (context.failure) return -1;
  if (error == 0) return 0;
  const runtime::Description is = runtime::describe(error);
  const Code code = is.no_memory ? Code::resource : is.device_is_gone ? Code::peer_lost : Code::bug;
  return fail(context, code, std::string("a GPU has failed: ") + what + ": " + is.text, tag);
}

/// Like require(), for an error of NCCL.
int require_group(Context& context, int error, const char* what, const void* tag = nullptr) {
  if (context.failure) return -1;
  if (error == 0) return 0;
  return fail(context, Code::peer_lost,
              std::string("GPUs cannot work together: ") + what + ": " + nccl::describe(error), tag);
}

Context& of(void* devices) {
  return *static_cast<Context*>(devices);
}

/// Makes the device that the task calls `device` the current one.
int use(Context& context, int device) {
  if (context.failure) return -1;
  if (device < 0 || device >= std::ssize(context.numbers))
    return fail(context, Code::bug, "the task has no gpu:" + std::to_string(device));
  return require(context, runtime::use(context.numbers[device]), "to choose it");
}

// ---- The machine ----

struct Machine {
  Machine() {
    const int found = runtime::devices(why);
    for (int device = 0; device < found; ++device) add(device);
  }
  std::string why;                        ///< the reason if CUDA finds no device, or unusable devices; else empty
  std::vector<int> numbers;               ///< CUDA's numbers of the usable devices
  std::vector<std::string> descriptions;  ///< of the usable devices

 private:
  void add(int device) {
    runtime::Facts facts;
    int error = runtime::facts(device, facts);
    std::string description = facts.name + ", compute capability " + std::to_string(facts.major) + "." +
                              std::to_string(facts.minor) + ", driver for CUDA " + std::to_string(facts.driver / 1000) +
                              "." + std::to_string(facts.driver % 1000 / 10);
    if (error == 0) error = runtime::has_code(device);
    if (error == 0) {
      numbers.push_back(device);
      descriptions.push_back(std::move(description));
    } else {
      why += (why.empty() ? "GPU " : "; GPU ") + std::to_string(device) +
             " cannot be used: " + runtime::describe(error).text + (facts.name.empty() ? "" : " (" + description + ")");
    }
  }
};

const Machine& machine_of(void* library) {
  return *static_cast<const Machine*>(library);
}

int count(void* library, const char** why) {
  const Machine& machine = machine_of(library);
  *why = machine.why.c_str();
  return static_cast<int>(machine.numbers.size());
}

const char* describe(void* library, int device) {
  static thread_local std::string text;
  text = machine_of(library).descriptions[device];
  if (const std::string why = why_no_blas(); !why.empty()) text += ", without cuBLASLt (" + why + ")";
  if (const std::string why = why_no_dnn(); !why.empty()) text += ", without cuDNN (" + why + ")";
  if (std::string why; nccl::domain(why) == 0) text += ", without NCCL (" + why + ")";
  if (const std::string why = why_no_compiler(); !why.empty()) text += ", without NVRTC (" + why + ")";
  text += "; ferry has not been tried on GPUs yet";
  return text.c_str();
}

std::uint64_t memory_bytes(void* library) {
  std::uint64_t least = 0;
  for (const int number : machine_of(library).numbers) {
    const std::uint64_t free = runtime::free_bytes(number);
    if (free != 0) least = least == 0 ? free : std::min(least, free);
  }
  return least;
}

// ---- Opening ----

void close(void* devices) {
  const std::unique_ptr<Context> context(&of(devices));
  if (!context->numbers.empty()) runtime::use(context->numbers[0]);
  for (const auto& [_, runs] : context->locked) page_locks().drop(runs);
  for (int device = 0; device < static_cast<int>(context->claimed.size()); ++device) {
    runtime::use(context->numbers[device]);
    runtime::release(context->claimed[device]);
  }
  if (context->bad != nullptr) runtime::release_shared(context->bad);
}

/// Memory that a device zeroes before anything runs there.
void* zeroed(Context& context, std::uint64_t bytes) {
  void *memory = nullptr, *stream = nullptr;
  if (require(context, runtime::allocate(&memory, bytes), "to allocate memory") != 0) return nullptr;
  if (require(context, runtime::make_stream(&stream), "to make a stream") != 0) return memory;
  require(context, runtime::clear(stream, memory, bytes), "to clear memory");
  require(context, runtime::finish(stream), "to clear memory");
  require(context, runtime::release_stream(stream), "to release a stream");
  return memory;
}

void* open(void* library, const DeviceShare* share, const char** why) {
  auto context = std::make_unique<Context>();
  const std::vector<int>& all = machine_of(library).numbers;
  for (int device = share->first; device < share->first + share->count && device < std::ssize(all); ++device)
    context->numbers.push_back(all[device]);
  const std::size_t count = context->numbers.size();
  void* shared = nullptr;
  if (use(*context, 0) == 0 && require(*context, runtime::allocate_shared(&shared, count * sizeof(BadRecord)),
                                       "to allocate memory of the host") == 0) {
    context->bad = static_cast<BadRecord*>(shared);
    std::uninitialized_value_construct_n(context->bad, count);
  }
  for (int device = 0; device < std::ssize(context->numbers) && use(*context, device) == 0; ++device)
    context->claimed.push_back(static_cast<std::int32_t*>(zeroed(*context, sizeof(std::int32_t))));
  if (!context->failure) return context.release();
  static thread_local std::string kept;
  kept = context->text;
  *why = kept.c_str();
  close(context.release());
  return nullptr;
}

// ---- Memory ----

void* allocate(void* devices, int device, std::uint64_t bytes) {
  Context& context = of(devices);
  if (use(context, device) != 0) return nullptr;
  void* memory = nullptr;
  const int error = runtime::allocate(&memory, std::max<std::uint64_t>(bytes, 1));  // CUDA gives null for no bytes
  if (error != 0 && runtime::describe(error).no_memory) return nullptr;
  if (require(context, error, "to allocate memory") != 0) return nullptr;
  context.memory[memory] = device;
  return memory;
}

void release(void* devices, void* memory) {
  Context& context = of(devices);
  const auto at = context.memory.find(memory);
  if (at == context.memory.end()) return;
  runtime::use(context.numbers[at->second]);
  runtime::release(memory);
  context.memory.erase(at);
}

int use_host_memory(void* devices, const void* memory, std::uint64_t bytes) {
  Context& context = of(devices);
  if (use(context, 0) != 0) return -1;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const int error = page_locks().add(begin, begin + bytes, context.locked.insert({memory, {}})->second);
  return require(context, error, "to lock pages of the host's memory");
}

void forget_host_memory(void* devices, const void* memory) {
  Context& context = of(devices);
  const auto at = context.locked.find(memory);
  if (at == context.locked.end()) return;
  runtime::use(context.numbers[0]);  // otherwise CUDA would make a context on device 0 for this thread
  page_locks().drop(at->second);
  context.locked.erase(at);
}

// ---- Queues and events ----

void* make_queue(void* devices, int device) {
  Context& context = of(devices);
  if (use(context, device) != 0) return nullptr;
  auto queue = std::make_unique<QueueOfDevice>();
  queue->context = &context;
  queue->device = context.numbers[device];
  queue->report = {context.claimed[device], context.bad + device, nullptr};
  if (require(context, runtime::make_stream(&queue->stream), "to make a stream") != 0) return nullptr;
  context.queues.push_back(std::move(queue));
  return context.queues.back().get();
}

void release_queue(void* given) {
  auto* const queue = static_cast<QueueOfDevice*>(given);
  runtime::use(queue->device);
  if (void* graph = nullptr; queue->captures && runtime::end_capture(queue->stream, &graph) == 0)
    runtime::release_graph(graph);
  runtime::finish(queue->stream);
  runtime::release_stream(queue->stream);
  std::erase_if(queue->context->queues, [&](const auto& other) { return other.get() == queue; });
}

void* make_event(void* devices, int timed) {
  Context& context = of(devices);
  return context.failure ? nullptr : new Event{.context = &context, .timed = timed != 0};
}

void release_event(void* given) {
  const std::unique_ptr<Event> event(static_cast<Event*>(given));
  if (event->event == nullptr) return;
  runtime::use(event->device);
  runtime::release_event(event->event);
}

/// Returns the queue and makes its device the current one. Null after a failure.
QueueOfDevice* use_queue(void* queue) {
  auto* const to = static_cast<QueueOfDevice*>(queue);
  Context& context = *to->context;
  return !context.failure && require(context, runtime::use(to->device), "to choose it") == 0 ? to : nullptr;
}

int record(void* queue, void* given) {
  const QueueOfDevice* const of_queue = use_queue(queue);
  if (of_queue == nullptr) return -1;
  Context& context = *of_queue->context;
  auto& event = *static_cast<Event*>(given);
  if (event.event != nullptr && event.device != of_queue->device)
    runtime::release_event(std::exchange(event.event, {}));
  if (event.event == nullptr &&
      require(context, runtime::make_event(&event.event, event.timed), "to make an event") != 0)
    return -1;
  event.device = of_queue->device;
  return require(context, runtime::record(event.event, of_queue->stream), "to record an event");
}

int wait(void* queue, void* given) {
  const QueueOfDevice* const waiting = use_queue(queue);
  if (waiting == nullptr) return -1;
  const auto& event = *static_cast<const Event*>(given);
  return event.event == nullptr
             ? 0
             : require(*waiting->context, runtime::wait(waiting->stream, event.event), "to wait for an event");
}

int query(void* given) {
  const auto& event = *static_cast<const Event*>(given);
  Context& context = *event.context;
  if (context.failure) return -1;
  bool happened = true;
  if (event.event != nullptr && require(context, runtime::query(event.event, happened), "its work") != 0) return -1;
  for (const auto& member : context.members)
    if (require_group(context, nccl::state(member->member), "a collective is broken off") != 0) return -1;
  if (!happened) return 0;
  for (BadRecord& record : std::span(context.bad, context.numbers.size())) {
    if (std::atomic_ref(record.is_set).load(std::memory_order_acquire) == 0) continue;
    const BadValue bad = bad_value(record);
    return fail(context, bad.code(), std::string(bad.text()), record.tag, static_cast<std::int64_t>(bad.input()));
  }
  return 1;
}

int elapsed(void* from, void* to, std::int64_t* nanoseconds) {
  const auto &first = *static_cast<const Event*>(from), &last = *static_cast<const Event*>(to);
  double milliseconds = 0;
  if (require(*first.context, runtime::elapsed(first.event, last.event, milliseconds), "to read its clock") != 0)
    return -1;
  *nanoseconds = std::llround(milliseconds * 1e6);
  return 0;
}

int copy(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag) {
  const QueueOfDevice* const copying = use_queue(queue);
  if (copying == nullptr) return -1;
  return require(*copying->context, copy_in_pieces(copying->stream, to, from, bytes), "to copy", tag);
}

int launch(void* queue, const DeviceLaunch* what) {
  QueueOfDevice* const running = use_queue(queue);
  if (running == nullptr) return -1;
  running->report.tag = what->tag;
  KernelRun& run = *what->run;
  run.queue = static_cast<Queue*>(running);
  try {
    what->kernel(run);
  } catch (const BadValue& bad) {
    return fail(*running->context, bad.code(), std::string(bad.text()), what->tag,
                static_cast<std::int64_t>(bad.input()));
  } catch (...) {
    const Error error = as_error(std::current_exception(), Code::program, "its code");
    return fail(*running->context, error.code(), std::string(error.text()), what->tag);
  }
  return 0;
}

int begin_capture(void* queue) {
  QueueOfDevice* const capturing = use_queue(queue);
  if (capturing == nullptr) return -1;
  if (require(*capturing->context, runtime::begin_capture(capturing->stream), "to capture work") != 0) return -1;
  capturing->captures = true;
  return 0;
}

void* end_capture(void* queue) {
  QueueOfDevice* const capturing = use_queue(queue);
  if (capturing == nullptr) return nullptr;
  capturing->captures = false;
  auto captured = std::make_unique<CapturedGraph>(CapturedGraph{nullptr, capturing->device});
  const int error = runtime::end_capture(capturing->stream, &captured->graph);
  return require(*capturing->context, error, "to capture work") == 0 ? captured.release() : nullptr;
}

int replay(void* queue, void* captured) {
  const QueueOfDevice* const replaying = use_queue(queue);
  if (replaying == nullptr) return -1;
  const int error = runtime::replay(replaying->stream, static_cast<const CapturedGraph*>(captured)->graph);
  return require(*replaying->context, error, "to replay captured work");
}

void release_graph(void* given) {
  const std::unique_ptr<CapturedGraph> captured(static_cast<CapturedGraph*>(given));
  runtime::use(captured->device);
  runtime::release_graph(captured->graph);
}

// ---- Groups ----

std::uint64_t group_domain(void*, const char** why) {
  static thread_local std::string text;
  const std::uint64_t domain = nccl::domain(text);
  *why = text.c_str();
  return domain;
}

int name_group(void* devices, DeviceGroupName* name) {
  return require_group(of(devices), nccl::make_name(*name), "to name a group");
}

void* join_group(void* devices, int device, const DeviceGroupName* name, int members, int member) {
  Context& context = of(devices);
  if (use(context, device) != 0) return nullptr;
  int error = 0;
  void* const joined = nccl::join(*name, members, member, error);
  if (require_group(context, error, "to join a group") != 0) return nullptr;
  const int number = context.numbers[device];
  context.members.push_back(std::make_unique<Member>(Member{&context, number, joined}));
  return context.members.back().get();
}

int joined(void* group) {
  const Member& member = *static_cast<const Member*>(group);
  bool all = false;
  if (require_group(*member.context, nccl::joined(member.member, all), "to join a group") != 0) return -1;
  return all ? 1 : 0;
}

void abandon_group(void* group) {
  const Member& member = *static_cast<const Member*>(group);
  runtime::use(member.device);
  nccl::abandon(member.member);
}

void leave_group(void* group) {
  auto* const member = static_cast<Member*>(group);
  runtime::use(member->device);
  nccl::leave(member->member);
  std::erase_if(member->context->members, [&](const auto& other) { return other.get() == member; });
}

int collective(void* queue, void* group, const DeviceCollective* what) {
  const QueueOfDevice* const running = use_queue(queue);
  if (running == nullptr) return -1;
  bool given = false;
  const int error = nccl::submit_part(static_cast<Member*>(group)->member, running->stream, *what, given);
  if (require_group(*running->context, error, "a collective", what->tag) != 0) return -1;
  return given ? 0 : 1;
}

const DeviceFailure* failure(void* devices) {
  const std::optional<DeviceFailure>& failure = of(devices).failure;
  return failure ? &*failure : nullptr;
}

std::vector<BoundKernel> fuse(void* devices, int device, std::span<const FusedKernels> all, int threads) {
  static CodeCache cache(cache_folder());
  const Context& context = of(devices);
  runtime::Facts facts;
  if (const int error = runtime::facts(context.numbers[device], facts); error != 0)
    throw Error(Code::bug, "a GPU does not report its properties: " + runtime::describe(error).text);
  return fused(all, 10 * facts.major + facts.minor, threads, cache);
}

constexpr DeviceTable kTable{.version = kDeviceTableVersion,
                             .size = sizeof(DeviceTable),
                             .name = "cuda",
                             .shared = 1,
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
                             .host_touches = nullptr};

}  // namespace

void require_launched(int error) {
  if (error == 0) return;
  const runtime::Description is = runtime::describe(error);
  throw Error(is.device_is_gone ? Code::peer_lost : Code::bug, "a GPU cannot run a kernel: " + is.text);
}

int copy_in_pieces(void* stream, void* to, const void* from, std::uint64_t bytes) {
  return page_locks().copy(stream, to, from, bytes);
}

DeviceLibrary devices() {
  DeviceLibrary library{&kTable, std::make_shared<Machine>(), kernel_table};
  if (why_no_compiler().empty()) library.fuse = fuse;
  return library;
}

}  // namespace ferry::cuda
