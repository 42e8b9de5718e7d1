// Explain: why each op is where it is, and why each transfer exists, from what planning wrote down.
#pragma once

#include <string>
#include <string_view>

#include "placement/planner.hpp"

namespace ferry {

/// A line for each reason, in plan order: op or value, where and why, the user's line. Under that of a transfer or sum
/// which shares its message stand some of the others that do, and their lines. With a `name`, those of the op of that
/// name and of its values only; Error(usage) names the nearest when nothing is known of it. Warnings come last.
[[nodiscard]] std::string explain(const PlanResult& result, std::string_view name = {});

}  // namespace ferry
