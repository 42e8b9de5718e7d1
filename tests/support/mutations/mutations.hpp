// Mutations: a good plan is broken in one place, in a way that leaves no equivalent plan.
#pragma once

#include <string_view>
#include <vector>

#include "placement/plan/plan.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// One way to break a plan. `apply` changes the plan and gives true, or gives false and leaves it when the plan has no
/// place for it: one where the change is sure to matter.
struct Mutation {
  std::string_view name;
  bool (*apply)(Plan& plan, Dice& dice);
};

/// All, family by family (families.hpp).
[[nodiscard]] std::vector<Mutation> mutations();

}  // namespace ferry::test
