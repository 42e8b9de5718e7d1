// Variables: state that outlives plans. Each task keeps its own parts; plans with the same layout share the memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"
#include "executor/state/variable_layout.hpp"
#include "executor/state/variable_part.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/device.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// One task's variables. Used by that task's thread only.
class VariableStore {
 public:
  /// For a task without devices besides the host.
  explicit VariableStore(int task) : VariableStore(DeviceShare{.task = task}, {}) {}
  /// `share` has the task and its share of the devices in `library`. Parts of variables can be on these devices. The
  /// first bind() opens them.
  VariableStore(const DeviceShare& share, std::optional<DeviceLibrary> library)
      : task_(share.task), share_(share), library_(std::move(library)) {}

  /// Gives the variables the layouts that a plan needs, and allocates this task's parts. A variable with another layout
  /// is redistributed: each task receives the whole value, so all tasks must call this with the same plan. Returns a
  /// number, the same on all tasks. As long as the number stays the same, so do the addresses of the plan's variables.
  std::uint64_t bind(const VariableLayouts& wanted, Transport& transport, const Deadline& deadline);
  /// Sets a variable from its parts: each task passes the part that it has in `layout`. All parts of `layout` are on
  /// hosts. Tasks without a part pass an undefined tensor. The next bind() distributes the variable by the layout of
  /// its plan. All tasks call it.
  void set(std::string_view name, DType dtype, std::shared_ptr<const VariableLayout> layout, const Tensor& part);
  /// Error(peer_lost) if a lost task has a part of a variable's value that no other task has.
  void require_parts(const Transport& transport) const;
  /// The whole value at task 0, undefined elsewhere. The next bind() redistributes the variable. All tasks call it.
  [[nodiscard]] Tensor whole(std::string_view name, Transport& transport, const Deadline& deadline);
  /// The address of this task's part, on the device that has it. Precondition: the variable was bound.
  [[nodiscard]] std::byte* address(std::string_view name) const;
  /// The task's devices; null: none are open.
  [[nodiscard]] const Devices* devices() const { return devices_ ? &*devices_ : nullptr; }

  /// Copies of this task's parts of some variables, by name.
  using Bytes = std::map<std::string, std::vector<std::byte>, std::less<>>;
  [[nodiscard]] Bytes copy(const std::vector<std::string>& names);
  /// Sets the parts to the copied values again. Precondition: since the copy no layout has changed and set() was not
  /// called.
  void restore_copy(const Bytes& bytes);

  /// A part of a variable as it is now. `bytes` points into this store, and is valid until the variable is written.
  struct Part {
    std::string_view name;
    DType dtype = DType::float32;
    const VariablePart* part = nullptr;
    std::span<const std::byte> bytes;
  };
  /// This task's parts of variables that have a value, in the order of names. Parts that a task with a lower number
  /// also has are left out, so all tasks together return each part once.
  [[nodiscard]] std::vector<Part> first_parts();
  /// This task's parts of variables that have a value, if another task has the same part. In the order of names.
  [[nodiscard]] std::vector<Part> replicas();
  /// The layouts of the variables that have a value: the same on all tasks.
  [[nodiscard]] VariableLayouts layouts() const;

  /// Counts that a plan is about to write the task's part of these variables. This store counts other writes itself.
  void count_write(const std::vector<std::string>& names);
  /// How often the task's parts of these variables were written, together.
  [[nodiscard]] std::uint64_t writes(const std::vector<std::string>& names) const;

  [[nodiscard]] bool has_value(std::string_view name) const;
  void set_has_value(std::string_view name);

 private:
  struct Variable {
    DType dtype = DType::float32;
    std::shared_ptr<const VariableLayout> layout;
    std::shared_ptr<std::byte[]> bytes;    ///< on layout->device()
    std::shared_ptr<std::byte[]> on_host;  ///< if it is on a device: the copy that host_bytes() returns
    std::uint64_t layout_version = 0;      ///< version_ when it got its present layout
    bool has_value = false;
    std::uint64_t writes = 0;  ///< how often the task's part was written
  };

  /// Opens the devices if there are any, unless they are open.
  void open_devices();
  [[nodiscard]] std::int64_t size_of_part(const Variable& variable) const;
  [[nodiscard]] std::vector<Part> parts(bool (VariableLayout::*wanted)(std::size_t task) const);
  static void require_part(std::string_view name, const Variable& variable, const Transport& transport);
  /// Allocates memory for the task's part on the device of its layout.
  void allocate(Variable& variable, std::string_view name);
  /// The bytes of the task's part, copied to the host if they are on a device.
  [[nodiscard]] const std::byte* host_bytes(Variable& variable, std::string_view name);
  void set_bytes(Variable& variable, const std::byte* from);
  /// Copies between the host and a device, and waits for the copy. `on_host` is the end on the host.
  void copy_over(std::int32_t device, std::byte* to, const std::byte* from, const std::byte* on_host,
                 std::uint64_t bytes);
  void redistribute(std::string_view name, std::shared_ptr<const VariableLayout> layout, Transport& transport,
                    const Deadline& deadline);

  int task_;
  DeviceShare share_;
  std::optional<DeviceLibrary> library_;
  std::optional<Devices> devices_;
  std::map<std::int32_t, Devices::Owned> queues_;  ///< by device: for copies between it and the host
  Devices::Owned copy_event_;                      ///< the event of the last of these copies
  std::uint64_t version_ = 0;
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace ferry
