// The interface between ferry and devices other than the host: their memory, queues and events, as a table of C
// functions. A library that is loaded at run time can provide such a table. The executor uses the class Devices.
// docs/internals/add_a_device.md describes how to add a device.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"

#pragma GCC visibility push(default)
namespace ferry {

inline constexpr std::uint32_t kDeviceTableVersion = 5;

/// A kernel launch. `run` and everything it refers to must not change until the work is done. The numbers of the step
/// and of iterations are the exception: the host sets them after waiting for their readers.
struct DeviceLaunch {
  void (*kernel)(KernelRun&);
  KernelRun* run;
  const void* tag;  ///< identifies the launch in a DeviceFailure
};

/// Why a device's work failed.
struct DeviceFailure {
  const void* tag;     ///< the tag of the launch or copy that failed; null: not known
  std::int32_t code;   ///< base/error.hpp: Code
  std::int64_t input;  ///< the kernel's input with an unusable value (BadValue); -1: none
  const char* text;
};

/// The devices of a library that a task has: [first, first + count).
struct DeviceShare {
  std::int32_t task = 0;
  std::int32_t first = 0, count = 0;
};

/// Names a group of devices to those that are to join it.
struct DeviceGroupName {
  char bytes[128];
};

/// Bytes that a member of a group sends to another one, or to itself, or receives from it.
struct DeviceMessage {
  std::int32_t peer;
  std::int32_t sends;  ///< 1; 0: it receives
  void* memory;
  std::uint64_t bytes;
};

/// A collective of a group of devices, as one member takes part. Inputs and outputs are in its device's memory; they do
/// not overlap, but the output of an all_reduce may be its input.
struct DeviceCollective {
  enum class Kind : std::uint8_t {
    all_reduce,      ///< each output is the fold of all inputs, of `count` elements
    reduce,          ///< the same, of the root alone
    reduce_scatter,  ///< member i gets elements [i count, (i + 1) count) of the fold
    all_gather,      ///< each output is all inputs, of `count` elements, one after another
    broadcast,       ///< each output is the root's input, of `count` elements; the root may have none
    exchange         ///< `messages`: those between two members come in the same order on both
  };
  Kind kind = Kind::all_reduce;
  Reduce reduce = Reduce::none;
  DType dtype = DType::uint8;
  std::int32_t root = 0;
  std::uint64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  const DeviceMessage* messages = nullptr;
  std::uint64_t message_count = 0;
  const void* tag = nullptr;  ///< identifies it in a DeviceFailure
};

/// The functions of a device library. Each task opens it for itself (several tasks of a process, several times), and
/// uses the returned handle from one thread. Functions that return an int, except for count() and query(), return 0, or
/// -1 on failure; after a failure all further calls fail, and failure() says why.
struct DeviceTable {
  std::uint32_t version;  ///< kDeviceTableVersion when the library was compiled
  std::uint32_t size;     ///< sizeof(DeviceTable) when the library was compiled
  const char* name;       ///< "sim"
  /// 1: the tasks of a machine share its devices. 0: each task has devices of its own.
  std::uint32_t shared;

  /// The number of devices that the machine or each task has. *why says why there are none, or not all; it stays as it
  /// is, or is empty, if there is nothing to say.
  int (*count)(void* library, const char** why);
  /// What device it is, for people: "NVIDIA H100 80GB HBM3, …". Valid until the next call.
  const char* (*describe)(void* library, int device);
  /// The free memory of each device; 0: unknown.
  std::uint64_t (*memory_bytes)(void* library);
  /// Opens a task's devices, which are numbered from 0 below, and returns the handle that the functions below take.
  /// Null on failure: *why says why.
  void* (*open)(void* library, const DeviceShare* share, const char** why);
  void (*close)(void* devices);

  /// Allocates memory on a device, which the host must not touch. Null: there is not enough, or failure() says why.
  void* (*allocate)(void* devices, int device, std::uint64_t bytes);
  void (*release)(void* devices, void* memory);
  /// Lets copies use this host memory until it is forgotten; a library may page-lock it.
  int (*use_host_memory)(void* devices, const void* memory, std::uint64_t bytes);
  void (*forget_host_memory)(void* devices, const void* memory);

  /// A queue runs its work in order, concurrently with the host and other queues. Null on failure, as of make_event.
  void* (*make_queue)(void* devices, int device);
  /// Drops work that has not begun, and returns when none of the queue's work runs any more: then its memory may go.
  void (*release_queue)(void* queue);
  /// `timed` 1: elapsed() may be asked of it, which may cost the queues some time. 0: it only says that it has
  /// happened.
  void* (*make_event)(void* devices, int timed);
  void (*release_event)(void* event);
  /// The event happens when all work that the queue has been given so far is done.
  int (*record)(void* queue, void* event);
  /// Work that the queue is given from now on begins after the event, as recorded last, has happened.
  int (*wait)(void* queue, void* event);
  /// 1: the event has happened. 0: not yet. -1: failed.
  int (*query)(void* event);
  /// How long after `from` `to` has happened, by the device's clock; negative if it was before. Both are timed, of one
  /// device, and query() has given 1 for both. Of two events that the device orders, the later is never before the
  /// other.
  int (*elapsed)(void* from, void* to, std::int64_t* nanoseconds);
  /// Copies between device and host memory, or between two places in device memory.
  int (*copy)(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag);
  int (*launch)(void* queue, const DeviceLaunch* launch);

  // Work can be captured (as in a CUDA graph): from begin_capture() to end_capture() the queue records submitted work
  // instead of running it, and each replay() submits the recorded work again. In between, the thread may call copy()
  // and launch() on this queue, and no other function of the table; copies are those within the device. The data that a
  // DeviceLaunch refers to are read during capture. They must not change while the graph exists, except for the numbers
  // named at DeviceLaunch.
  int (*begin_capture)(void* queue);
  /// Returns what was captured, a graph; null on failure.
  void* (*end_capture)(void* queue);
  /// Only on the queue that captured it.
  int (*replay)(void* queue, void* graph);
  /// Only when none of its work runs any more.
  void (*release_graph)(void* graph);

  /// Null: nothing has failed.
  const DeviceFailure* (*failure)(void* devices);

  /// Devices of tasks can form groups if their libraries return the same number. 0: this library's devices cannot, and
  /// *why has the reason.
  std::uint64_t (*group_domain)(void* library, const char** why);
  /// Makes a name for a new group. All its members then join it with that name.
  int (*name_group)(void* devices, DeviceGroupName* name);
  /// Begins to make a device member number `member` of the group. Null on failure.
  void* (*join_group)(void* devices, int device, const DeviceGroupName* name, int members, int member);
  /// 1: all members have joined. 0: not yet. -1: failed.
  int (*joined)(void* group);
  /// Gives up what the group's members have under way; they may only leave then.
  void (*abandon_group)(void* group);
  void (*leave_group)(void* group);
  /// Submits this member's part of the group's next collective to the queue. The collective is the same on all members.
  /// Returns 0: submitted. 1: not yet; call again with the same arguments before any other use of the queue. -1:
  /// failed.
  int (*collective)(void* queue, void* group, const DeviceCollective* what);

  /// Tells the library that the host is about to read or write host memory, for the instruction `tag`; null if the
  /// library need not know.
  int (*host_touches)(void* devices, const void* memory, std::uint64_t bytes, int writes, const void* tag);
};

/// Devices of one kind, and the kernels that run there.
struct DeviceLibrary {
  const DeviceTable* table = nullptr;
  std::shared_ptr<void> library;  ///< first argument of `count`, `memory_bytes` and `open`
  /// Makes the table of the devices' kernels, given the CPU's.
  std::function<std::shared_ptr<const KernelTable>(const KernelTable& cpu)> kernels;
  /// Makes one kernel for each of `all`, on a device of the task's: `devices` is what `open` returned. Uses up to
  /// `threads` threads. Empty: the devices run their kernels one by one (TaskInfo::gpu_regions).
  std::function<std::vector<BoundKernel>(void* devices, int device, std::span<const FusedKernels> all, int threads)>
      fuse = {};
};

/// The kernel by which a device folds what the members of its groups give. Its output is the fold of all inputs in
/// their order, with the bits of FoldElements (kernel.hpp). Inputs have the output's type, and one may be the output
/// itself.
[[nodiscard]] constexpr std::string_view fold_kernel(Reduce reduce) {
  return reduce == Reduce::sum ? "FoldSum" : reduce == Reduce::max ? "FoldMax" : "FoldMin";
}
/// Its inputs, at most.
inline constexpr std::size_t kMostFoldInputs = 64;

/// Simulated devices, which any machine can have (kernels/sim). Their queues run work as late, and interleaved with
/// other queues in as bad an order, as events allow; the seed decides. They run the CPU's kernels, and fail with
/// Code::bug on a race: two accesses to the same memory, one of them a write, that nothing orders.
[[nodiscard]] DeviceLibrary simulated_devices(std::uint64_t seed);

/// The GPUs of this machine by CUDA, by the library libferry_cuda.so beside this one; none where that is not installed
/// or was built for another ferry: `why` says so. It may have 0 devices, and says why.
[[nodiscard]] std::optional<DeviceLibrary> cuda_devices(std::string& why);

/// What libferry_cuda.so has for this: its function ferry_device_plugin() returns one.
struct DevicePlugin {
  std::uint32_t version = kDeviceTableVersion;
  std::uint32_t size = sizeof(DevicePlugin);
  /// What the plug-in and ferry must agree on: the memory layout of the types that both use.
  std::uint32_t layout[11] = {sizeof(DeviceTable),      sizeof(DeviceLibrary), sizeof(KernelTable),   sizeof(Kernel),
                              sizeof(KernelRun),        sizeof(Array),         sizeof(KernelSetup),   sizeof(Attrs),
                              sizeof(DeviceCollective), sizeof(FusedKernels),  sizeof(DeviceEpilogue)};
  DeviceLibrary (*devices)() = nullptr;
};

/// Thrown when work of a device has failed.
class FailedWork : public Error {
 public:
  FailedWork(const DeviceFailure& failure)
      : Error(static_cast<Code>(failure.code), failure.text), tag_(failure.tag), input_(failure.input) {}
  [[nodiscard]] const void* tag() const noexcept { return tag_; }
  [[nodiscard]] std::int64_t input() const noexcept { return input_; }

 private:
  const void* tag_;
  std::int64_t input_;
};

/// A task's devices. Used only by the thread that made it.
class Devices {
 public:
  /// Error(plan) for a table of another version or size, Error(resource) where it cannot be opened.
  Devices(const DeviceLibrary& library, const DeviceShare& share);

  /// A handle that is released with its last owner, and keeps the devices open until then.
  using Owned = std::shared_ptr<void>;

  /// Error(resource), which names `what`, when there is not enough memory.
  [[nodiscard]] std::shared_ptr<std::byte> memory(int device, std::uint64_t bytes, const std::string& what) const;
  /// Lets copies use this host memory while the result lives.
  [[nodiscard]] Owned host_memory(const std::byte* memory, std::uint64_t bytes) const;
  [[nodiscard]] Owned queue(int device) const;
  [[nodiscard]] Owned event() const { return make_event(false); }
  /// An event for elapsed().
  [[nodiscard]] Owned timed_event() const { return make_event(true); }

  [[nodiscard]] DeviceGroupName name_group() const;
  /// Leaves the group with its last owner.
  [[nodiscard]] Owned join_group(int device, const DeviceGroupName& name, int members, int member) const;

  // As in DeviceTable; these throw FailedWork when work has failed.
  void record(void* queue, void* event) const { require(table_->record(queue, event)); }
  void wait(void* queue, void* event) const { require(table_->wait(queue, event)); }
  [[nodiscard]] bool happened(void* event) const { return answer(table_->query(event)); }
  [[nodiscard]] std::chrono::nanoseconds elapsed(void* from, void* to) const {
    std::int64_t nanoseconds = 0;
    require(table_->elapsed(from, to, &nanoseconds));
    return std::chrono::nanoseconds(nanoseconds);
  }
  void copy(void* queue, std::byte* to, const std::byte* from, std::uint64_t bytes, const void* tag) const {
    require(table_->copy(queue, to, from, bytes, tag));
  }
  void launch(void* queue, const DeviceLaunch& launch) const { require(table_->launch(queue, &launch)); }
  void begin_capture(void* queue) const { require(table_->begin_capture(queue)); }
  [[nodiscard]] Owned end_capture(void* queue) const;
  void replay(void* queue, void* graph) const { require(table_->replay(queue, graph)); }
  [[nodiscard]] bool joined(void* group) const { return answer(table_->joined(group)); }
  void abandon(void* group) const { table_->abandon_group(group); }
  /// Whether it has been given; false: call again.
  [[nodiscard]] bool collective(void* queue, void* group, const DeviceCollective& what) const {
    return !answer(table_->collective(queue, group, &what));
  }
  /// DeviceLibrary::fuse; Error(plan) where there is none.
  [[nodiscard]] std::vector<BoundKernel> fuse(int device, std::span<const FusedKernels> all, int threads) const;
  /// Whether the library wants to know what the host touches; if so, touches() must be called before each access.
  [[nodiscard]] bool asks_for_touches() const { return table_->host_touches != nullptr; }
  void touches(const std::byte* memory, std::uint64_t bytes, bool writes, const void* tag) const {
    require(table_->host_touches(devices_.get(), memory, bytes, writes ? 1 : 0, tag));
  }

 private:
  [[nodiscard]] Owned make_event(bool timed) const;
  [[nodiscard]] bool answer(int said) const {
    require(said < 0 ? said : 0);
    return said > 0;
  }
  void require(int said) const {
    if (said != 0) [[unlikely]]
      fail();
  }
  [[noreturn]] void fail() const;

  const DeviceTable* table_;
  std::shared_ptr<void> devices_;
  decltype(DeviceLibrary::fuse) fuse_;
};

/// Error(plan) for a table of another version or size.
void check_device_table(const DeviceTable& table);

/// Finds kernels of the CPU and of one other kind of device.
class KernelsOfDevices final : public KernelLookup {
 public:
  /// `library`: none where there are hosts alone. `cpu` must outlive it.
  KernelsOfDevices(const KernelTable& cpu, const std::optional<DeviceLibrary>& library)
      : cpu_(cpu), devices_(library ? library->kernels(cpu) : nullptr) {}
  /// Null: there are hosts alone.
  [[nodiscard]] const KernelTable* devices() const { return devices_.get(); }
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override {
    if (kind == DeviceKind::cpu) return cpu_.find(op, kind);
    return devices_ == nullptr ? nullptr : devices_->find(op, kind);
  }

 private:
  const KernelTable& cpu_;
  const std::shared_ptr<const KernelTable> devices_;
};

}  // namespace ferry
#pragma GCC visibility pop
