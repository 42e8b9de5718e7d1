// Replaces the CUDA runtime on the host, for tests. Streams do their work at once. machine_on_host() has the devices
// and the call that fails.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "kernels/cuda/devices.hpp"
#include "kernels/cuda/on_host.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/cuda_on_host.hpp"

namespace ferry::cuda {

MachineOnHost& machine_on_host() {
  static MachineOnHost machine;
  return machine;
}

DeviceLibrary devices_on_host() {
  return devices();
}

}  // namespace ferry::cuda

namespace ferry::cuda::runtime {
namespace {

enum Failure : int { kNoMemory = 1, kGone, kWrong };

constexpr std::uintptr_t kPage = 4096;

thread_local int current = -1;  // -1: use() was not called; CUDA would take device 0, which ferry must not rely on
std::mutex calls;               // the tasks of a process are threads

struct Graph {
  std::vector<std::function<void()>> work;
};
struct Stream {
  int device;
  std::unique_ptr<Graph> captured = {};  ///< null if the stream does not capture
};
thread_local bool captures = false;  // whether this thread has begun a capture

Stream& stream_at(void* stream) {
  return *static_cast<Stream*>(stream);
}

/// Does the work at once, or keeps it if the stream captures.
void enqueue(Stream& stream, std::function<void()> work) {
  stream.captured != nullptr ? stream.captured->work.push_back(std::move(work)) : work();
}

/// The first query of an event returns that it has not happened. It then happens, with all events recorded before it.
struct Event {
  int device;
  bool timed = false;
  std::uint64_t recorded = 0;
  TimePoint at = {};
};
std::uint64_t recorded = 0, happened_up_to = 0;

/// Whether this function returns the machine's failure. A failed kernel only appears in record() and query().
bool reports_failure(std::string_view function) {
  return machine_on_host().fails != "launch" || function == "record" || function == "query";
}

/// The error that the calling thread's next call of `function` returns.
int next_error(std::string_view function) {
  if (captures && function != "copy" && function != "launch") return kWrong;
  const std::lock_guard guard(calls);
  MachineOnHost& machine = machine_on_host();
  if (machine.fails_on >= 0 && current >= 0 && current != machine.fails_on) return 0;
  if (machine.failed != 0) return reports_failure(function) ? machine.failed : 0;
  if (current < 0) return kWrong;
  if (machine.fails.empty() || machine.fails != function || machine.after-- > 0) return 0;
  return machine.failed = machine.is_gone ? kGone : kWrong;
}

void count(int& calls_of_function) {
  const std::lock_guard guard(calls);
  ++calls_of_function;
}

/// True if all pages of the memory were locked by one call, or if none is locked.
bool is_alike(const void* memory, std::uint64_t bytes) {
  const auto& locked = machine_on_host().locked;
  const auto first = reinterpret_cast<std::uintptr_t>(memory), last = first + bytes;
  const auto after = locked.lower_bound(last);
  if (after == locked.begin()) return true;
  const auto& [begin, end] = *std::prev(after);
  return end <= first || (begin <= first && last <= end);
}

}  // namespace

Description describe(int error) {
  switch (error) {
    case kNoMemory:
      return {"no memory", true, false};
    case kGone:
      return {"the device is gone", false, true};
    default:
      return {"error " + std::to_string(error), false, false};
  }
}

int devices(std::string& why) {
  why = machine_on_host().why;
  return machine_on_host().devices;
}

int facts(int, Facts& facts) {
  facts = {"a GPU on the host", 9, 0, 13000};
  return 0;
}

std::uint64_t free_bytes(int device) {
  const MachineOnHost& machine = machine_on_host();
  const auto at = static_cast<std::size_t>(device);
  return machine.memory_bytes - (at < machine.used_bytes.size() ? machine.used_bytes[at] : 0);
}

int has_code(int device) {
  return machine_on_host().without_code.contains(device) ? kWrong : 0;
}

int use(int device) {
  MachineOnHost& machine = machine_on_host();
  if (device < 0 || device >= machine.devices || machine.without_code.contains(device)) return kWrong;
  current = device;
  const std::lock_guard guard(calls);
  machine.used.insert(device);
  return reports_failure("use") && (machine.fails_on < 0 || machine.fails_on == device) ? machine.failed : 0;
}

int allocate(void** memory, std::uint64_t bytes) {
  if (const int error = next_error("allocate"); error != 0) return error;
  *memory = nullptr;
  if (bytes == 0) return 0;
  if (bytes > machine_on_host().memory_bytes) return kNoMemory;
  *memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  return *memory == nullptr ? kNoMemory : 0;
}

int release(void* memory) {
  std::free(memory);
  return 0;
}

int allocate_shared(void** memory, std::uint64_t bytes) {
  return allocate(memory, bytes);
}

int release_shared(void* memory) {
  return release(memory);
}

int lock(void* pages, std::uint64_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(pages), last = first + bytes;
  auto& locked = machine_on_host().locked;
  if (bytes == 0 || first % kPage != 0 || last % kPage != 0) return kWrong;
  const auto after = locked.lower_bound(first);
  if (after != locked.end() && after->first < last) return kWrong;
  if (after != locked.begin() && std::prev(after)->second > first) return kWrong;
  locked[first] = last;
  return 0;
}

int unlock(void* pages) {
  return current >= 0 && machine_on_host().locked.erase(reinterpret_cast<std::uintptr_t>(pages)) == 1 ? 0 : kWrong;
}

int make_stream(void** stream) {
  *stream = new Stream{current};
  return next_error("make_stream");
}

int release_stream(void* stream) {
  delete static_cast<Stream*>(stream);
  return 0;
}

int finish(void*) {
  return next_error("finish");
}

int make_event(void** event, bool timed) {
  *event = new Event{.device = current, .timed = timed};
  return 0;
}

int release_event(void* event) {
  delete static_cast<Event*>(event);
  return 0;
}

/// Like CUDA, it requires that the event and the stream belong to one device.
int record(void* event, void* stream) {
  auto& here = *static_cast<Event*>(event);
  if (here.device != stream_at(stream).device) return kWrong;
  {
    const std::lock_guard guard(calls);
    here.recorded = ++recorded;
    here.at = system_clock().now();
  }
  return next_error("record");
}

int wait(void*, void*) {
  return next_error("wait");
}

int query(void* event, bool& happened) {
  {
    const std::lock_guard guard(calls);
    happened = static_cast<Event*>(event)->recorded <= happened_up_to;
    happened_up_to = recorded;
  }
  return next_error("query");
}

int elapsed(void* from, void* to, double& milliseconds) {
  const auto &first = *static_cast<const Event*>(from), &last = *static_cast<const Event*>(to);
  const std::lock_guard guard(calls);
  for (const Event* const event : {&first, &last})
    if (!event->timed || event->recorded == 0 || event->recorded > happened_up_to) return kWrong;
  milliseconds = std::chrono::duration<double, std::milli>(last.at - first.at).count();
  return first.device == last.device ? 0 : kWrong;
}

int begin_capture(void* stream) {
  if (const int error = next_error("begin_capture"); error != 0) return error;
  count(machine_on_host().captures);
  stream_at(stream).captured = std::make_unique<Graph>();
  captures = true;
  return 0;
}

int end_capture(void* stream, void** graph) {
  captures = false;
  if (const int error = next_error("end_capture"); error != 0) return error;
  *graph = stream_at(stream).captured.release();
  return *graph == nullptr ? kWrong : 0;
}

int replay(void* stream, void* graph) {
  if (const int error = next_error("replay"); error != 0) return error;
  count(machine_on_host().replays);
  for (const auto& work : static_cast<const Graph*>(graph)->work) enqueue(stream_at(stream), work);
  return 0;
}

int release_graph(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}

/// Like CUDA, it requires that host memory is locked by one call, or not at all.
int copy(void* stream, void* to, const void* from, std::uint64_t bytes) {
  if (const int error = next_error("copy"); error != 0) return error;
  if (bytes == 0 || !is_alike(to, bytes) || !is_alike(from, bytes)) return kWrong;
  enqueue(stream_at(stream), [=] { std::memmove(to, from, bytes); });
  return 0;
}

int clear(void* stream, void* memory, std::uint64_t bytes) {
  enqueue(stream_at(stream), [=] { std::memset(memory, 0, bytes); });
  return 0;
}

}  // namespace ferry::cuda::runtime

namespace ferry::cuda {

void detail::launch_on(void* stream, std::function<void()> kernel) {
  static_cast<void>(runtime::next_error("launch"));
  runtime::enqueue(runtime::stream_at(stream), std::move(kernel));
}

}  // namespace ferry::cuda
