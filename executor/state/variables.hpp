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

  /// Gives each variable of a plan the layout that the plan wants. One that has a value in another layout is moved:
  /// each task gets its whole value and cuts out its part. So all tasks must call this with the same plan. The result
  /// is the same on all tasks, and changes whenever the address of one of the plan's variables may have changed; it is
  /// never 0.
  std::uint64_t bind(const VariableLayouts& wanted, Transport& transport, const Deadline& deadline);
  /// Sets a variable to task 0's `value`, a whole one; other tasks' is ignored. It lies whole on task 0 until the next
  /// bind(). All tasks call it; there are `tasks` of them.
  void set(std::string_view name, const Type& type, const Tensor& value, int tasks);
  /// The whole value at task 0, undefined elsewhere. The variable lies whole on task 0 until the next bind(). All tasks
  /// call it.
  [[nodiscard]] Tensor whole(std::string_view name, Transport& transport, const Deadline& deadline);
  [[nodiscard]] std::byte* address(std::string_view name) const;

  /// The bytes that this task has of these variables, as they are now, by name.
  using Bytes = std::map<std::string, std::vector<std::byte>, std::less<>>;
  [[nodiscard]] Bytes copy(const std::vector<std::string>& names) const;
  /// Undoes what was written since the copy. Precondition: since then no layout has changed and no variable was set.
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
    std::uint64_t laid = 0;  ///< version_ when the bytes got their address
    bool has_value = false;
  };

  void lay(std::string_view name, std::shared_ptr<const VariableLayout> layout, Transport& transport,
           const Deadline& deadline);

  int task_;
  std::uint64_t version_ = 0;
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace ferry
