// largest_values: the largest values of a plan class, for messages about memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

namespace ferry {

struct LargeValue {
  std::string text;  ///< "'w' float32[4,4]: 64 B": name, type and bytes
  SourceLine line;   ///< line of the op that makes it
};

/// At most `count` values that have buffers of their own, the largest first. Only values on devices with counts(device)
/// are included. Thread-safe.
[[nodiscard]] std::vector<LargeValue> largest_values(const Plan& plan, const PlanClass& role, std::size_t count,
                                                     const std::function<bool(std::uint32_t device)>& counts);

}  // namespace ferry
