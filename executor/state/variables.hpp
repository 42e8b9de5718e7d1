// Variables: state that outlives plans. Each task keeps its parts; plans with the same layout share the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"
#include "executor/state/variable_layout.hpp"
#include "executor/state/variable_part.hpp"
#include "graph/types/tensor.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// One task's variables. Used by that task's thread only.
class VariableStore {
 public:
  explicit VariableStore(int task) : task_(task) {}

  /// Makes the parts that a plan wants, and gives the address of each of this task's. Variables that lie otherwise are
  /// laid anew through whole values, for which all tasks must call this with the same plan. The result is the same on
  /// all tasks: while it stays as it is, so do the addresses of the plan's variables.
  std::uint64_t bind(const VariableLayouts& wanted, Transport& transport, const Deadline& deadline);
  /// Gives a variable its value: whole at task 0, whose `value` it is; other tasks give none. The next bind lays it as
  /// its plan wants. All `tasks` tasks call it.
  void set(std::string_view name, const Type& type, const Tensor& value, int tasks);
  /// The whole value at task 0, undefined elsewhere. The next bind lays the variable anew. All tasks call it.
  [[nodiscard]] Tensor whole(std::string_view name, Transport& transport, const Deadline& deadline);
  [[nodiscard]] std::byte* address(std::string_view name) const;

  /// The bytes that this task has of these variables, as they are now, by name.
  using Bytes = std::map<std::string, std::vector<std::byte>, std::less<>>;
  [[nodiscard]] Bytes copy(const std::vector<std::string>& names) const;
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
  [[nodiscard]] std::vector<Part> first_parts() const;

  [[nodiscard]] bool has_value(std::string_view name) const;
  void set_has_value(std::string_view name);

 private:
  struct Variable {
    DType dtype = DType::float32;
    std::shared_ptr<const VariableLayout> layout;
    std::shared_ptr<std::byte[]> bytes;
    std::uint64_t laid = 0;  ///< version_ when the bytes got their place
    bool has_value = false;
  };

  void lay(std::string_view name, std::shared_ptr<const VariableLayout> layout, Transport& transport,
           const Deadline& deadline);

  int task_;
  std::uint64_t version_ = 0;
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace ferry
