// What tasks move by the plan: traffic_of() of plan.hpp, and what the tasks of a class move together.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// Sums of traffic_of() over the tasks of a class. Each collective is counted once, for all of its members at a time:
/// the cost is that of a schedule's steps and of its members, not of their product. Not thread-safe; the plan, which
/// has passed the verifier, must outlive it.
class ClassTraffic {
 public:
  explicit ClassTraffic(const Plan& plan);

  /// Of running a region of the class once, without the regions nested in it.
  [[nodiscard]] Traffic of(std::uint32_t plan_class, std::uint32_t region);

 private:
  /// Of each class in one call.
  const std::vector<Traffic>& of_collective(std::uint32_t number);

  const Plan& plan_;
  std::vector<std::int64_t> tasks_;                      // of each class
  std::map<std::uint32_t, std::vector<Traffic>> known_;  // by collective
};

/// What each member of a collective sends and receives, as Schedule tells of one: messages, and elements in place of
/// bytes.
[[nodiscard]] std::vector<Traffic> traffic_of_members(const Schedule& schedule, std::span<const std::int64_t> parts);

}  // namespace ferry
