// Variables: state that outlives plans. Each task keeps its parts; plans with the same layout share the bytes.
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
#include "placement/plan/plan.hpp"

namespace ferry {

/// One task's variables. Used by that task's thread only.
class VariableStore {
 public:
  /// `library`: of the devices that parts may lie on besides the host; opened when a plan first wants them.
  explicit VariableStore(int task, std::optional<DeviceLibrary> library = {})
      : task_(task), library_(std::move(library)) {}

  /// Makes the parts that a plan wants, and gives the address of each of this task's. Variables that lie otherwise are
  /// laid anew through whole values, for which all tasks must call this with the same plan. The result is the same on
  /// all tasks: while it stays as it is, so do the addresses of the plan's variables.
  std::uint64_t bind(const VariableLayouts& wanted, Transport& transport, const Deadline& deadline);
  /// Gives a variable its value: whole at task 0, whose `value` it is; other tasks give none. The next bind lays it as
  /// its plan wants. All `tasks` tasks call it.
  void set(std::string_view name, const Type& type, const Tensor& value, int tasks);
  /// The whole value at task 0, undefined elsewhere. The next bind lays the variable anew. All tasks call it.
  [[nodiscard]] Tensor whole(std::string_view name, Transport& transport, const Deadline& deadline);
  /// On the device that has it.
  [[nodiscard]] std::byte* address(std::string_view name) const;
  /// The task's devices; null: none are open.
  [[nodiscard]] const Devices* devices() const { return devices_ ? &*devices_ : nullptr; }
  /// Opens the devices, if there are any and nobody has.
  void open_devices();

  /// The bytes that this task has of these variables, as they are now, by name.
  using Bytes = std::map<std::string, std::vector<std::byte>, std::less<>>;
  [[nodiscard]] Bytes copy(const std::vector<std::string>& names);
  /// Undoes what was written since the copy; nothing has been bound otherwise or set meanwhile.
  void put_back(const Bytes& bytes);

  /// A part of a variable as it is now. The bytes are this store's.
  struct Part {
    std::string_view name;
    DType dtype = DType::float32;
    const VariablePart* part = nullptr;
    std::span<const std::byte> bytes;
  };
  /// The parts that no earlier task also holds, of the variables that have a value, in the order of their names. So all
  /// tasks together give each part once.
  [[nodiscard]] std::vector<Part> first_parts();

  [[nodiscard]] bool has_value(std::string_view name) const;
  void set_has_value(std::string_view name);

 private:
  struct Variable {
    DType dtype = DType::float32;
    std::shared_ptr<const VariableLayout> layout;
    std::shared_ptr<std::byte[]> bytes;    ///< on layout->device()
    std::shared_ptr<std::byte[]> on_host;  ///< of one on a device: what host_bytes() gives
    std::uint64_t laid = 0;                ///< version_ when the bytes got their place
    bool has_value = false;
  };

  [[nodiscard]] std::int64_t size_of_part(const Variable& variable) const;
  /// Room for the task's part, where its layout says.
  void allocate(Variable& variable, std::string_view name);
  /// The bytes as they are now, on the host.
  [[nodiscard]] const std::byte* host_bytes(Variable& variable, std::string_view name);
  /// Sets the variable's bytes.
  void set_bytes(Variable& variable, const std::byte* from);
  /// Copies between the host and a device, and waits for it.
  void copy_over(std::int32_t device, std::byte* to, const std::byte* from, const std::byte* on_host,
                 std::uint64_t bytes) const;
  void lay(std::string_view name, std::shared_ptr<const VariableLayout> layout, Transport& transport,
           const Deadline& deadline);

  int task_;
  std::optional<DeviceLibrary> library_;
  std::optional<Devices> devices_;
  std::uint64_t version_ = 0;
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace ferry
