// Explain: prints why each op is where it is, and why each transfer exists, from the reasons that planning kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "placement/planner.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The reasons for the op with this name and for its values, or for all ops and values that match a pattern with '*' or
/// '?', such as "layer1/*". Throws Error(usage), which suggests the nearest name, if there are none. Without a name,
/// all reasons if `all`, else only the reasons for transfers. The reasons for transfers come first.
[[nodiscard]] std::vector<const Reason*> reasons_for(const PlanResult& result, std::string_view name, bool all);

/// Explains a plan as text. First come the schedules of the stages of pipelines, if there is no `name`. Then each of
/// reasons_for() has a line, with the op or value, its place and the reason for it, and the user's line. A transfer or
/// sum that shares its message has a second line, which names some of the others in the message, with their lines. With
/// a `name` and Placing::automatic, the chosen layouts and the next best ones follow. Warnings come last.
[[nodiscard]] std::string explain(const PlanResult& result, std::string_view name = {}, bool all = true);

}  // namespace ferry
#pragma GCC visibility pop
