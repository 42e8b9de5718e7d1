// placed_plan_json: the picture of a plan for the page of a report.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace ferry {

/// If a plan has more boxes than this, each fold is one box, which cannot be opened.
inline constexpr std::size_t kMostOpened = 5'000;

/// One JSON object: columns, folds, boxes and arrows; docs/guide/report_data.md has its keys. One of the tasks that do
/// the same is drawn. If there are more than PlanDrawing::kMostRoles different tasks, the first ones are drawn.
[[nodiscard]] std::string placed_plan_json(const Plan& plan, std::size_t most_opened = kMostOpened);

}  // namespace ferry
