// VariableLayout: which part of a variable each task has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/state/variable_part.hpp"
#include "graph/types/dtype.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The part of a variable that each task has; equal parts are stored once. It does not change after it was made, so all
/// tasks of a process share one layout.
class VariableLayout {
 public:
  /// A layout in which no task has a part yet.
  explicit VariableLayout(std::size_t tasks) : of_task_(tasks, 0) {}
  /// The layout of a value of these sizes that task 0 has whole, and no other task has.
  [[nodiscard]] static std::shared_ptr<const VariableLayout> at_task_0(const std::vector<std::int64_t>& sizes,
                                                                       std::size_t tasks);

  static constexpr std::int32_t kHost = -1;
  /// Gives a task its part, on that device, or on the host for kHost. Call it only while the layout is made, with tasks
  /// in ascending order.
  void set_part(std::size_t task, const VariablePart& part, std::int32_t device = kHost);

  [[nodiscard]] std::size_t tasks() const { return of_task_.size(); }
  [[nodiscard]] const VariablePart& part(std::size_t task) const { return parts_[of_task_[task]].part; }
  /// The device that has the task's part, or kHost.
  [[nodiscard]] std::int32_t device(std::size_t task) const { return devices_.empty() ? kHost : devices_[task]; }
  /// Whether the task has a part that no task with a lower number has.
  [[nodiscard]] bool is_first(std::size_t task) const {
    return of_task_[task] != 0 && parts_[of_task_[task]].first == task;
  }
  /// Equal for tasks that have the same part; 0: the task has none.
  [[nodiscard]] std::uint32_t part_number(std::size_t task) const { return of_task_[task]; }
  /// Whether another task has the same part.
  [[nodiscard]] bool is_replica(std::size_t task) const {
    return of_task_[task] != 0 && parts_[of_task_[task]].tasks > 1;
  }
  /// Sizes of the whole value. Precondition: some task has a part of it.
  [[nodiscard]] const std::vector<std::int64_t>& whole() const { return parts_.at(1).part.whole; }
  bool operator==(const VariableLayout& other) const {
    return parts_ == other.parts_ && of_task_ == other.of_task_ && devices_ == other.devices_;
  }

 private:
  struct Distinct {
    VariablePart part;
    std::size_t first = 0;  ///< the first task that has it
    std::size_t tasks = 0;  ///< number of tasks that have it
    bool operator==(const Distinct&) const = default;
  };
  std::vector<Distinct> parts_{1};      // parts_[0] stands for no part
  std::vector<std::int32_t> devices_;   // by task; empty: all parts are on their hosts
  std::vector<std::uint32_t> of_task_;  // by task: index in parts_
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, std::uint32_t> numbers_;  // begin, sizes
};

/// The dtypes and layouts of a plan's variables, by name.
using VariableLayouts = std::map<std::string, std::pair<DType, std::shared_ptr<const VariableLayout>>, std::less<>>;
[[nodiscard]] VariableLayouts variable_layouts(const Plan& plan);

}  // namespace ferry
