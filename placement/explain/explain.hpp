// Explain: prints why each op is where it is, and why each transfer exists, from the reasons that planning kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "placement/planner.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The reasons of the op with this name and of its values, or of all that match a pattern with '*' or '?', such as
/// "layer1/*"; Error(usage) suggests the nearest name if there are none. Without a name all reasons, or only the
/// reasons of transfers unless `all`. The reasons of transfers come first.
[[nodiscard]] std::vector<const Reason*> reasons_for(const PlanResult& result, std::string_view name, bool all);

/// How the stages of each pipeline work. A line for each reason, in plan order, the reasons of transfers first: op or
/// value, where and why, the user's line. A second line for a transfer or sum that shares its message names some of the
/// others in it, with their lines. The lines are of reasons_for(). With a `name` and Placing::automatic, the chosen
/// layouts and the next best ones follow. Warnings come last.
[[nodiscard]] std::string explain(const PlanResult& result, std::string_view name = {}, bool all = true);

}  // namespace ferry
#pragma GCC visibility pop
