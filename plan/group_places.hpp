// GroupPlaces: where the tasks of a plan stand in its groupings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// Answers membership() for many tasks: scans each grouping only once, when it is first asked for. Not thread-safe; the
/// plan must outlive it.
class GroupPlaces {
 public:
  explicit GroupPlaces(const Plan& plan) : plan_(plan) {}

  [[nodiscard]] Membership of(std::uint32_t grouping, int task);
  /// As begin_of().
  [[nodiscard]] std::vector<std::int64_t> begin(const Window& window, int task);

 private:
  const Plan& plan_;
  std::map<std::uint32_t, std::vector<Membership>> known_;  // by grouping: of each task
};

/// First element of the part in each dim of the whole value; `place` says where the task stands in a grouping.
[[nodiscard]] std::vector<std::int64_t> begin_at(const Window& window,
                                                 const std::function<Membership(std::uint32_t grouping)>& place);

}  // namespace ferry
