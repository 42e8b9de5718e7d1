// Reads the exact texts of a plan's tables (exact_tables_of) and of ClassPlans (ClassPlan::str).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "plan/plan_tables.hpp"

namespace ferry::test {

/// The classes of a plan while passes work on them, with the plan's tables. Attributes have no values, because no pass
/// over classes reads them.
struct ClassForms {
  std::unique_ptr<Plan> plan = std::make_unique<Plan>();
  std::unique_ptr<PlanTables> tables = std::make_unique<PlanTables>(*plan);
  std::vector<ClassPlan> classes;

  /// The tables, then each class after `pass`, if one is given. The plan gets the classes, so it works once.
  [[nodiscard]] std::string str(void (*pass)(ClassPlan&) = nullptr);
};

/// The tables and classes that `text` is of, from class `first` on, of a plan for these tasks. Error(file) names line
/// and column.
///
///     ClassForms again = parse_classes(exact_tables_of(plan) + role.str(), plan.topology);
[[nodiscard]] ClassForms parse_classes(std::string_view text, const Topology& topology, std::uint32_t first = 0);

}  // namespace ferry::test
