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
#include "placement/plan/plan.hpp"

namespace ferry {

/// The part of a variable on each task; equal parts are kept once. It does not change once it is made, so all tasks of
/// a process share one.
class VariableLayout {
 public:
  /// At first no task has a part.
  explicit VariableLayout(std::size_t tasks) : of_task_(tasks, 0) {}
  /// A value of these sizes, whole at task 0 and nowhere else.
  [[nodiscard]] static std::shared_ptr<const VariableLayout> at_task_0(const std::vector<std::int64_t>& sizes,
                                                                       std::size_t tasks);

  /// Gives a task its part. Only while the layout is made, with tasks in ascending order.
  void give(std::size_t task, const VariablePart& part);

  [[nodiscard]] std::size_t tasks() const { return of_task_.size(); }
  [[nodiscard]] const VariablePart& part(std::size_t task) const { return parts_[of_task_[task]].part; }
  /// Whether the task has a part that no task before it has.
  [[nodiscard]] bool is_first(std::size_t task) const {
    return of_task_[task] != 0 && parts_[of_task_[task]].first == task;
  }
  /// Sizes of the whole value, where some task has a part of it.
  [[nodiscard]] const std::vector<std::int64_t>& whole() const { return parts_.at(1).part.whole; }
  bool operator==(const VariableLayout& other) const { return parts_ == other.parts_ && of_task_ == other.of_task_; }

 private:
  struct Distinct {
    VariablePart part;
    std::size_t first = 0;  ///< the first task that has it
    bool operator==(const Distinct&) const = default;
  };
  std::vector<Distinct> parts_{1};                                                                    // 0: none
  std::vector<std::uint32_t> of_task_;                                                                // into parts_
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, std::uint32_t> numbers_;  // begin, sizes
};

/// The dtypes and layouts of a plan's variables, by name.
using VariableLayouts = std::map<std::string, std::pair<DType, std::shared_ptr<const VariableLayout>>, std::less<>>;
[[nodiscard]] VariableLayouts variable_layouts(const Plan& plan);

}  // namespace ferry
