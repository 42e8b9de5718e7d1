// Explain: prints why each op is where it is, and why each transfer exists, from the reasons that planning kept.
#pragma once

#include <string>
#include <string_view>

#include "placement/planner.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// How the stages of each pipeline work. A line for each reason, in plan order, the reasons of transfers first: op or
/// value, where and why, the user's line. A second line for a transfer or sum that shares its message names some of the
/// others in it, with their lines. Reasons of ops come only if `all` is true or a `name` is given: then only the
/// reasons of that op and its values; Error(usage) suggests the nearest name if there are none. A `name` with '*' or
/// '?' is a pattern, such as "layer1/*". With a `name` and Placing::automatic, the chosen layouts and the next best
/// ones follow. Warnings come last.
[[nodiscard]] std::string explain(const PlanResult& result, std::string_view name = {}, bool all = true);

}  // namespace ferry
#pragma GCC visibility pop
