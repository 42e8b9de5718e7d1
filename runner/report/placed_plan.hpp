// placed_plan_json: the picture of a plan that a report's page draws.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace ferry {

/// Of more boxes than this each fold is one box, which cannot be opened.
inline constexpr std::size_t kMostOpened = 20'000;

/// One JSON object: columns, folds, boxes and arrows; docs/guide/report_data.md has its keys. Of tasks that do the same
/// one is drawn, of more than PlanDrawing::kMostRoles different ones the first.
[[nodiscard]] std::string placed_plan_json(const Plan& plan, std::size_t most_opened = kMostOpened);

}  // namespace ferry
