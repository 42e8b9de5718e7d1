// The seam between ferry and devices that are not the host: their memory, queues and events, as a table of C functions,
// so that a library which is loaded at run time can hand one over; and Devices, which is what the executor uses.
// docs/add_a_device.md says what to write for another device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/kernel.hpp"

namespace ferry {

inline constexpr std::uint32_t kDeviceTableVersion = 1;

/// A kernel's run, as a queue gets it. `run` and what it refers to stay as they are until the work is done.
struct DeviceLaunch {
  void (*kernel)(KernelRun&);
  KernelRun* run;
  const void* tag;  ///< what a failure names
};

/// Why a device's work failed.
struct DeviceFailure {
  const void* tag;     ///< of the launch that failed; null: not known
  std::int32_t code;   ///< base/error.hpp: Code
  std::int64_t input;  ///< the kernel's input whose value it cannot work on (BadValue); -1: none
  const char* text;
};

/// What a library of devices does. A task opens it once and uses what it gets from one thread; different tasks of a
/// process open it each for themselves. Functions that give an int give 0, or -1 where they have failed; from then on
/// all fail, and failure() says why.
struct DeviceTable {
  std::uint32_t version;  ///< kDeviceTableVersion, when it was compiled
  std::uint32_t size;     ///< sizeof(DeviceTable), then
  const char* name;       ///< "sim"

  /// How many devices a task has. None: *why says why.
  int (*count)(void* library, const char** why);
  /// Of each device; 0: not known.
  std::uint64_t (*memory_bytes)(void* library);
  /// What all else of one task is done with. `seed` is the task's number. Null: *why says why.
  void* (*open)(void* library, std::uint64_t seed, const char** why);
  void (*close)(void* devices);

  /// Null: there is not so much. The host must not touch it.
  void* (*allocate)(void* devices, int device, std::uint64_t bytes);
  void (*release)(void* devices, void* memory);
  /// The host's memory, which copies may use from now on until it is forgotten: locked, say.
  int (*use_host_memory)(void* devices, const void* memory, std::uint64_t bytes);
  void (*forget_host_memory)(void* devices, const void* memory);

  /// A queue runs what it is given one after another, beside the host and other queues.
  void* (*make_queue)(void* devices, int device);
  void (*release_queue)(void* queue);
  void* (*make_event)(void* devices);
  void (*release_event)(void* event);
  /// The event happens when all that the queue was given so far is done.
  int (*record)(void* queue, void* event);
  /// What the queue is given from now on begins when the event has happened, as it was recorded last.
  int (*wait)(void* queue, void* event);
  /// 1: it has happened. 0: not yet. -1: failed.
  int (*query)(void* event);
  /// Between the device and host memory, or two places of devices.
  int (*copy)(void* queue, void* to, const void* from, std::uint64_t bytes, const void* tag);
  int (*launch)(void* queue, const DeviceLaunch* launch);
  const DeviceFailure* (*failure)(void* devices);

  /// The host is about to read or write its memory, for `tag`. Null where nobody asks.
  int (*host_touches)(void* devices, const void* memory, std::uint64_t bytes, int writes, const void* tag);
};

/// Devices of one kind, and the kernels that run there.
struct DeviceLibrary {
  const DeviceTable* table = nullptr;
  std::shared_ptr<void> library;  ///< first argument of `count`, `memory_bytes` and `open`
  /// The table of kernels, beside these of the CPU's.
  std::function<std::shared_ptr<const KernelTable>(const KernelTable& cpu)> kernels;
};

/// A simulated device on any machine (kernels/sim), whose queues run what they are given as late, and beside other
/// queues in as bad an order, as they may; the seed decides. It runs the CPU's kernels, and fails with Code::bug where
/// something touches memory that nothing orders after what touched it before.
[[nodiscard]] DeviceLibrary simulated_devices(std::uint64_t seed);

/// Work of a device has failed.
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

/// A task's devices. Used by the thread that made it.
class Devices {
 public:
  /// Error(plan) for a table of another version or size, Error(resource) where it cannot be opened.
  Devices(DeviceLibrary library, int task);

  /// Released when the last owner is gone; it keeps the devices open.
  using Owned = std::shared_ptr<void>;

  /// Error(resource) with `what` when there is not so much.
  [[nodiscard]] std::shared_ptr<std::byte> memory(int device, std::uint64_t bytes, const std::string& what) const;
  /// Host memory that copies use while the result lives.
  [[nodiscard]] Owned host_memory(const std::byte* memory, std::uint64_t bytes) const;
  [[nodiscard]] Owned queue(int device) const;
  [[nodiscard]] Owned event() const;

  // Each throws what failed: FailedWork.
  void record(void* queue, void* event) const { require(table_->record(queue, event)); }
  void wait(void* queue, void* event) const { require(table_->wait(queue, event)); }
  [[nodiscard]] bool happened(void* event) const {
    const int said = table_->query(event);
    require(said < 0 ? said : 0);
    return said > 0;
  }
  void copy(void* queue, std::byte* to, const std::byte* from, std::uint64_t bytes, const void* tag) const {
    require(table_->copy(queue, to, from, bytes, tag));
  }
  void launch(void* queue, const DeviceLaunch& launch) const { require(table_->launch(queue, &launch)); }
  /// Whether anybody wants to know what the host touches; then touches() says it.
  [[nodiscard]] bool asks_for_touches() const { return table_->host_touches != nullptr; }
  void touches(const std::byte* memory, std::uint64_t bytes, bool writes, const void* tag) const {
    require(table_->host_touches(devices_.get(), memory, bytes, writes ? 1 : 0, tag));
  }

 private:
  void require(int said) const {
    if (said != 0) [[unlikely]]
      fail();
  }
  [[noreturn]] void fail() const;

  DeviceLibrary library_;
  const DeviceTable* table_;
  std::shared_ptr<void> devices_;
};

/// Error(plan) for a table of another version or size.
void check_device_table(const DeviceTable& table);

/// Finds kernels of the CPU and of other devices.
class KernelsOfDevices final : public KernelLookup {
 public:
  /// `devices`: null where there are none. Both must outlive it.
  KernelsOfDevices(const KernelTable& cpu, const KernelTable* devices) : cpu_(cpu), devices_(devices) {}
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override {
    if (kind == DeviceKind::cpu) return cpu_.find(op, kind);
    return devices_ == nullptr ? nullptr : devices_->find(op, kind);
  }

 private:
  const KernelTable& cpu_;
  const KernelTable* const devices_;
};

}  // namespace ferry
