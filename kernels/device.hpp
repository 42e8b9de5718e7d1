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

/// The failure of a device's work.
struct DeviceFailure {
  const void* tag;     ///< the tag of the launch or copy that failed; null: not known
  std::int32_t code;   ///< base/error.hpp: Code
  std::int64_t input;  ///< the number of the kernel's input with an unusable value (BadValue); -1: none
  const char* text;
};

/// The devices of a library that belong to a task: [first, first + count).
struct DeviceShare {
  std::int32_t task = 0;
  std::int32_t first = 0, count = 0;
};

/// The name of a group of devices. A device needs it to join the group.
struct DeviceGroupName {
  char bytes[128];
};

/// Bytes that a member of a group sends to a member, perhaps to itself, or receives from it.
struct DeviceMessage {
  std::int32_t peer;
  std::int32_t sends;  ///< 1: this member sends; 0: it receives
  void* memory;
  std::uint64_t bytes;
};

/// A collective of a group of devices, as one member calls it. Inputs and outputs are in the memory of the member's
/// device. They must not overlap, except that the output of an all_reduce may be its input.
struct DeviceCollective {
  enum class Kind : std::uint8_t {
    all_reduce,      ///< each output is the fold of all inputs, of `count` elements
    reduce,          ///< only the root's output is the fold of all inputs
    reduce_scatter,  ///< member i gets elements [i count, (i + 1) count) of the fold
    all_gather,      ///< each output is all inputs, of `count` elements, one after another
    broadcast,       ///< each output is the root's input, of `count` elements; the root may have none
    exchange         ///< `messages`; the messages between two members must be in the same order on both
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
  const void* tag = nullptr;  ///< identifies the collective in a DeviceFailure
};

/// The functions of a device library. Each task opens the library, so a process with several tasks opens it several
/// times. A task uses the returned handle from one thread. Functions that return an int return 0, or -1 on failure,
/// unless their comments differ. After a failure all further calls fail, and failure() has the reason.
struct DeviceTable {
  std::uint32_t version;  ///< kDeviceTableVersion when the library was compiled
  std::uint32_t size;     ///< sizeof(DeviceTable) when the library was compiled
  const char* name;       ///< "sim"
  /// 1: the tasks of a machine share its devices. 0: each task has devices of its own.
  std::uint32_t shared;

  /// The number of devices that the machine or each task has. If devices are missing, sets *why to the reason;
  /// otherwise leaves *why unchanged or empty.
  int (*count)(void* library, const char** why);
  /// A description of the device for users: "NVIDIA H100 80GB HBM3, …". Valid until the next call.
  const char* (*describe)(void* library, int device);
  /// The free memory of each device, in bytes; 0: unknown.
  std::uint64_t (*memory_bytes)(void* library);
  /// Opens a task's devices, and returns the handle for the functions below, which number these devices from 0. Returns
  /// null on failure, with the reason in *why.
  void* (*open)(void* library, const DeviceShare* share, const char** why);
  void (*close)(void* devices);

  /// Allocates memory on a device. The host must not access it. Null: the device has too little memory, or it has
  /// failed; then failure() has the reason.
  void* (*allocate)(void* devices, int device, std::uint64_t bytes);
  void (*release)(void* devices, void* memory);
  /// Lets copies use this host memory until forget_host_memory(); a library may page-lock it.
  int (*use_host_memory)(void* devices, const void* memory, std::uint64_t bytes);
  void (*forget_host_memory)(void* devices, const void* memory);

  /// Makes a queue. A queue runs its work in order, concurrently with the host and other queues. make_queue() and
  /// make_event() return null on failure.
  void* (*make_queue)(void* devices, int device);
  /// Drops work that has not begun. Returns when no work of the queue runs any more, so that memory of this work may be
  /// released.
  void (*release_queue)(void* queue);
  /// `timed` 1: the event can be passed to elapsed(), which may cost the queues some time. 0: it can only be waited for
  /// and queried.
  void* (*make_event)(void* devices, int timed);
  void (*release_event)(void* event);
  /// Records the event: it happens when all work submitted to the queue so far is done.
  int (*record)(void* queue, void* event);
  /// Work that is submitted to the queue from now on begins after the last recording of the event has happened.
  int (*wait)(void* queue, void* event);
  /// Returns 1: the event has happened; 0: not yet; -1: failed.
  int (*query)(void* event);
  /// Sets *nanoseconds to the time from `from` to `to`, by the device's clock; negative if `to` happened first. Both
  /// must be timed events of one device, and query() must have returned 1 for both. If the device orders the two
  /// events, the time never contradicts this order.
  int (*elapsed)(void* from, void* to, std::int64_t* nanoseconds);
  /// Copies between device and host memory, or between two places in device memory.
  int (*copy)(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag);
  int (*launch)(void* queue, const DeviceLaunch* launch);

  // Work can be captured (as in a CUDA graph). From begin_capture() to end_capture() the queue records submitted work
  // instead of running it, and each replay() submits the recorded work again. During capture, the thread may only call
  // copy() and launch() on this queue, and no other function of the table. Copies must be within the device. The
  // capture reads the data that a DeviceLaunch refers to. These data must not change while the graph exists, except for
  // the numbers of the step and of iterations.
  int (*begin_capture)(void* queue);
  /// Returns the captured work as a graph; null on failure.
  void* (*end_capture)(void* queue);
  /// Submits the work of a graph again. `queue` must be the queue that captured it.
  int (*replay)(void* queue, void* graph);
  /// Releases a graph. None of its work may be running.
  void (*release_graph)(void* graph);

  /// The failure of the devices; null: nothing has failed.
  const DeviceFailure* (*failure)(void* devices);

  /// Devices of tasks can form a group if this function of their libraries returns the same number other than 0. 0:
  /// this library's devices cannot form groups, and *why has the reason.
  std::uint64_t (*group_domain)(void* library, const char** why);
  /// Makes a name for a new group. All its members then join the group with this name.
  int (*name_group)(void* devices, DeviceGroupName* name);
  /// Begins to join a device to the group, as member number `member`. Returns null on failure.
  void* (*join_group)(void* devices, int device, const DeviceGroupName* name, int members, int member);
  /// Returns 1: all members have joined; 0: not yet; -1: failed.
  int (*joined)(void* group);
  /// Cancels all work of the group's members that is under way. Afterwards the members may only leave the group.
  void (*abandon_group)(void* group);
  void (*leave_group)(void* group);
  /// Submits this member's part of the group's next collective to the queue. The collective is the same on all members.
  /// Returns 0: submitted. 1: not yet; call again with the same arguments before any other use of the queue. -1:
  /// failed.
  int (*collective)(void* queue, void* group, const DeviceCollective* what);

  /// Tells the library that the host is about to read or write host memory, for the instruction `tag`. The pointer to
  /// this function is null if the library does not need the call.
  int (*host_touches)(void* devices, const void* memory, std::uint64_t bytes, int writes, const void* tag);
};

/// Devices of one kind, and the kernels that run there.
struct DeviceLibrary {
  const DeviceTable* table = nullptr;
  std::shared_ptr<void> library;  ///< the first argument of `count`, `memory_bytes` and `open`
  /// Makes the table of the devices' kernels; `cpu` has the CPU's kernels.
  std::function<std::shared_ptr<const KernelTable>(const KernelTable& cpu)> kernels;
  /// Makes one kernel for each of `all`, on a device of the task; `devices` is the handle from `open`. Uses up to
  /// `threads` threads. Empty: the devices run the kernels of a region one by one (TaskInfo::gpu_regions).
  std::function<std::vector<BoundKernel>(void* devices, int device, std::span<const FusedKernels> all, int threads)>
      fuse = {};
};

/// The name of the kernel by which a device folds the inputs of its group's members. Its output is the fold of all
/// inputs in order, with the bits of FoldElements (kernel.hpp). Inputs have the output's type, and one of them may be
/// the output itself.
[[nodiscard]] constexpr std::string_view fold_kernel(Reduce reduce) {
  return reduce == Reduce::sum ? "FoldSum" : reduce == Reduce::max ? "FoldMax" : "FoldMin";
}
/// The most inputs of a fold kernel.
inline constexpr std::size_t kMostFoldInputs = 64;

/// Simulated devices, which any machine can have (kernels/sim). Their queues delay their work, and interleave it with
/// other queues' work, as badly as events allow; the seed decides how. They run the CPU's kernels. They fail with
/// Code::bug on a race: two accesses to the same memory that nothing orders, at least one of them a write.
[[nodiscard]] DeviceLibrary simulated_devices(std::uint64_t seed);

/// The GPUs of this machine by CUDA, from the library libferry_cuda.so beside this library. Returns nothing if that
/// library is not installed or was built for another ferry; `why` then has the reason. A returned library may have 0
/// devices, and its count() has the reason.
[[nodiscard]] std::optional<DeviceLibrary> cuda_devices(std::string& why);

/// The interface of libferry_cuda.so: its function ferry_device_plugin() returns a DevicePlugin.
struct DevicePlugin {
  std::uint32_t version = kDeviceTableVersion;
  std::uint32_t size = sizeof(DevicePlugin);
  /// The memory layout of the types that the plug-in and ferry share. Both must have the same numbers.
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

/// A task's devices. Only the thread that made the object may use it.
class Devices {
 public:
  /// Throws Error(plan) for a table of another version or size, and Error(resource) if the devices cannot be opened.
  Devices(const DeviceLibrary& library, const DeviceShare& share);

  /// A handle that is released with its last owner. It keeps the devices open until then.
  using Owned = std::shared_ptr<void>;

  /// Throws Error(resource), with `what` in the message, if there is not enough memory.
  [[nodiscard]] std::shared_ptr<std::byte> memory(int device, std::uint64_t bytes, const std::string& what) const;
  /// Lets copies use this host memory while the result lives.
  [[nodiscard]] Owned host_memory(const std::byte* memory, std::uint64_t bytes) const;
  [[nodiscard]] Owned queue(int device) const;
  [[nodiscard]] Owned event() const { return make_event(false); }
  /// An event for elapsed().
  [[nodiscard]] Owned timed_event() const { return make_event(true); }

  [[nodiscard]] DeviceGroupName name_group() const;
  /// Joins a group. The device leaves the group when the last owner of the result releases it.
  [[nodiscard]] Owned join_group(int device, const DeviceGroupName& name, int members, int member) const;

  // See DeviceTable. These functions throw FailedWork if work has failed.
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
  /// Returns whether the collective has been submitted; false: call again.
  [[nodiscard]] bool collective(void* queue, void* group, const DeviceCollective& what) const {
    return !answer(table_->collective(queue, group, &what));
  }
  /// Calls DeviceLibrary::fuse. Throws Error(plan) if there is none.
  [[nodiscard]] std::vector<BoundKernel> fuse(int device, std::span<const FusedKernels> all, int threads) const;
  /// Whether the library needs to know the host's accesses; if so, touches() must be called before each access.
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

/// The plug-in that compiles elementwise kernels of CPUs while a job runs.
struct CpuCompiler {
  std::string version;  ///< of LLVM and of the plug-in
  std::string path;     ///< of the plug-in
  std::string why;      ///< the reason why ferry cannot use the plug-in; empty: it can
  std::string cache;    ///< the folder of the compiled code; empty: none
};
/// Opens the plug-in and returns its facts. Thread-safe.
///
///     if (const std::string why = cpu_compiler().why; !why.empty()) std::cout << "ops run one by one: " << why;
[[nodiscard]] CpuCompiler cpu_compiler();

/// Throws Error(plan) for a table of another version or size.
void check_device_table(const DeviceTable& table);

/// Finds kernels of the CPU and of one other kind of device.
class KernelsOfDevices final : public KernelLookup {
 public:
  /// `library`: nothing if there are only hosts. `cpu` must outlive this object.
  KernelsOfDevices(const KernelTable& cpu, const std::optional<DeviceLibrary>& library)
      : cpu_(cpu), devices_(library ? library->kernels(cpu) : nullptr) {}
  /// The kernels of the devices; null: there are only hosts.
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
