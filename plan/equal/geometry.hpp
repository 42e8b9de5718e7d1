// Geometry: the parts of split values on each task, as begin and size in each dim.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace ferry::equal {

/// The position of a task in a grouping; -1: the task is in none of the groups.
struct GroupSpot {
  std::int32_t group = -1, member = -1;
};

/// The range of one dim that a task has of a value.
struct DimPart {
  std::int64_t begin = 0, size = 0;
  [[nodiscard]] std::int64_t end() const { return begin + size; }
  bool operator==(const DimPart&) const = default;
};
using Box = std::vector<DimPart>;

/// A value with these sizes. The window of the plan gives the part of each task; kNone: each task has the whole value.
struct Partition {
  std::span<const std::int64_t> sizes;
  std::uint32_t window = kNone;
};

/// Answers questions about a plan's windows and groups, and caches the answers. Not thread-safe.
class Geometry {
 public:
  explicit Geometry(const Plan& plan);

  [[nodiscard]] GroupSpot position(std::uint32_t grouping, std::int32_t task) const {
    return positions_[grouping][task];
  }
  [[nodiscard]] const std::vector<std::int32_t>& tasks_of(std::uint32_t plan_class) const { return tasks_[plan_class]; }
  /// Whether the window is the part that each task has, and not rows that it reads, gives or gets.
  [[nodiscard]] bool is_part(std::uint32_t window) const {
    return window == kNone || plan_.windows[window].has == Window::Has::part;
  }
  /// The part on a task; nullopt if the task is in no group of some split.
  [[nodiscard]] std::optional<Box> box(const Partition& value, std::int32_t task) const;
  /// Whether each task of the class has the same elements of the flattened value under `a` and `b`, in the same order.
  [[nodiscard]] bool same_elements(std::uint32_t plan_class, const Partition& a, const Partition& b);

  /// The dim along which the members of each group have consecutive parts, in their order; -1 if there is no such dim.
  /// Together these parts must be the part under `whole` of the member `holder`, or, if `holder` is -1, of each member
  /// except the guest. `guest` is a member without a part; -1: all members have one.
  [[nodiscard]] int joined_dim(std::uint32_t grouping, const Partition& parts, const Partition& whole,
                               std::int32_t holder, std::int32_t guest);
  /// The dims (from, to) if the members of each group can exchange blocks: under `before` they split `from`, and under
  /// `after` they split `to`.
  [[nodiscard]] std::optional<std::pair<int, int>> exchanged_dims(std::uint32_t grouping, const Partition& before,
                                                                  const Partition& after);
  /// Whether each member except the guest has under `b` the part that the member `holder` has under `a`.
  [[nodiscard]] bool same_as_member(std::uint32_t grouping, const Partition& a, std::int32_t holder, const Partition& b,
                                    std::int32_t guest);
  /// Whether the parts of dim 0 are in the order of the tasks.
  [[nodiscard]] bool in_task_order(const Partition& value) const;
  /// Whether each group of `grouping`, without its guest, consists of the members of groups of `owed`, each once. Then
  /// the sum over all groupings of `owed` is the sum over the group's members.
  [[nodiscard]] bool sums_exactly(std::uint32_t grouping, std::int32_t guest, const std::vector<std::uint32_t>& owed);
  /// Whether each group of `inner` that shares a member with a group of `outer` is a subset of that group.
  [[nodiscard]] bool is_within(std::uint32_t inner, std::uint32_t outer, std::int32_t guest);

 private:
  const Plan& plan_;
  std::vector<std::vector<GroupSpot>> positions_;  // for each grouping, for each task
  std::vector<std::vector<std::int32_t>> tasks_;   // for each class
  std::map<std::vector<std::int64_t>, std::int64_t> known_;
};

}  // namespace ferry::equal
