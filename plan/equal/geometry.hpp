// Where the parts of split values are: begin and size of each dim, task by task.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace ferry::equal {

/// Where a task stands in a grouping; -1: in none of the groups.
struct GroupSpot {
  std::int32_t group = -1, member = -1;
};

/// The elements of a value that a task has, of one dim.
struct DimPart {
  std::int64_t begin = 0, size = 0;
  [[nodiscard]] std::int64_t end() const { return begin + size; }
  bool operator==(const DimPart&) const = default;
};
using Box = std::vector<DimPart>;

/// A value of these sizes. A window of the plan gives the part of each task; kNone: each task has all of it.
struct Laid {
  std::span<const std::int64_t> sizes;
  std::uint32_t window = kNone;
};

/// Answers questions about a plan's windows and groups. Keeps the answers. Not thread-safe.
class Geometry {
 public:
  explicit Geometry(const Plan& plan);

  [[nodiscard]] GroupSpot spot(std::uint32_t grouping, std::int32_t task) const {
    return spots_[grouping][static_cast<std::size_t>(task)];
  }
  [[nodiscard]] const std::vector<std::int32_t>& tasks_of(std::uint32_t plan_class) const { return tasks_[plan_class]; }
  /// Whether the window says which part each task has, and not which rows it reads, gives or gets.
  [[nodiscard]] bool is_part(std::uint32_t window) const {
    return window == kNone || plan_.windows[window].has == Window::Has::part;
  }
  /// The part of a task; nothing if the task is in no group of some split.
  [[nodiscard]] std::optional<Box> box(const Laid& value, std::int32_t task) const;
  /// Whether all tasks of the class have, under both, the same elements of the flattened value in the same order.
  [[nodiscard]] bool same_elements(std::uint32_t plan_class, const Laid& a, const Laid& b);

  /// The dim along which the members of each group have, in their order, parts that follow each other. Together these
  /// are the part under `whole` of the member `of`, or if that is -1 of each member but the guest. -1: there is no such
  /// dim. `guest` is a member without a part; -1: all have one.
  [[nodiscard]] int joined_dim(std::uint32_t grouping, const Laid& parts, const Laid& whole, std::int32_t of,
                               std::int32_t guest);
  /// Whether the members of each group can exchange blocks: before, they split `from`, and afterwards `to`.
  [[nodiscard]] std::optional<std::pair<int, int>> exchanged_dims(std::uint32_t grouping, const Laid& before,
                                                                  const Laid& after);
  /// Whether each member but the guest has, under `b`, what the member `of` has under `a`.
  [[nodiscard]] bool same_as_member(std::uint32_t grouping, const Laid& a, std::int32_t of, const Laid& b,
                                    std::int32_t guest);
  /// Whether the parts of dim 0 follow each other in the order of the tasks.
  [[nodiscard]] bool in_task_order(const Laid& value) const;
  /// Whether the members of each group of `grouping` without a guest are the members of groups of `owed`, each once:
  /// then what each group sums up over all groupings of `owed` is the sum over its members.
  [[nodiscard]] bool sums_exactly(std::uint32_t grouping, std::int32_t guest, const std::vector<std::uint32_t>& owed);
  /// Whether each group of `inner` that shares a member with a group of `outer` is within it.
  [[nodiscard]] bool within(std::uint32_t inner, std::uint32_t outer, std::int32_t guest);

 private:
  const Plan& plan_;
  std::vector<std::vector<GroupSpot>> spots_;     // of each grouping: of each task
  std::vector<std::vector<std::int32_t>> tasks_;  // of each class
  std::map<std::vector<std::int64_t>, std::int64_t> known_;
};

}  // namespace ferry::equal
