// GroupPlaces: the positions of a plan's tasks in its groupings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// Answers membership() for many tasks. It scans each grouping only once, at its first use. Not thread-safe; the plan
/// must outlive it.
class GroupPlaces {
 public:
  explicit GroupPlaces(const Plan& plan) : plan_(plan) {}

  [[nodiscard]] Membership of(std::uint32_t grouping, int task);
  /// Like begin_of().
  [[nodiscard]] std::vector<std::int64_t> begin(const Window& window, int task);

 private:
  const Plan& plan_;
  std::map<std::uint32_t, std::vector<Membership>> known_;  // by grouping: for each task
};

/// The first element of the part, in each dim of the whole value. `place` returns the task's position in a grouping.
[[nodiscard]] std::vector<std::int64_t> begin_at(const Window& window,
                                                 const std::function<Membership(std::uint32_t grouping)>& place);

}  // namespace ferry
