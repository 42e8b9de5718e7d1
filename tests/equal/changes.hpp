// Changes of the meaning of a plan, which a forger, or a mistake in a pass, might make. Each is made alike on all
// classes, so that the verifier accepts many of them.
#pragma once

#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

struct MeaningChange {
  std::string_view name;
  /// Changes the plan at a random place; false if there is none.
  bool (*apply)(Plan& plan, Dice& dice);
};

/// All kinds of changes.
[[nodiscard]] std::vector<MeaningChange> meaning_changes();

}  // namespace ferry::test
