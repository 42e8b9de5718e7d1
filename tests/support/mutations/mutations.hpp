// Mutations: each breaks a good plan in one place, such that the result is not equivalent.
#pragma once

#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// One way to break a plan. `apply` changes the plan and returns true. When the plan has no place where this change is
/// sure to matter, it leaves the plan and returns false.
struct Mutation {
  std::string_view name;
  bool (*apply)(Plan& plan, Dice& dice);
};

/// All mutations, family by family (families.hpp).
[[nodiscard]] std::vector<Mutation> mutations();

}  // namespace ferry::test
