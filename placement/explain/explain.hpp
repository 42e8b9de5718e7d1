// Explain: why each op is where it is, and why each transfer exists, from what planning wrote down.
#pragma once

#include <string>
#include <string_view>

#include "placement/planner.hpp"

namespace ferry {

/// A line for each reason, in plan order: op or value, where and why, the user's line. Below a transfer or sum that
/// shares its message stand some of the others in it, with their lines. With a `name`, only the reasons of that op and
/// its values; Error(usage) names the nearest when there are none. Warnings come last.
[[nodiscard]] std::string explain(const PlanResult& result, std::string_view name = {});

}  // namespace ferry
