// Dying: an op that passes a vector on, and kills its process in the step that a test names.
#pragma once

#include "ops/op_set.hpp"

namespace ferry::test {

inline constexpr OpDef kDying{.name = "Dying", .types = "T->T", .T = kFloats, .index = "n->n"};

}  // namespace ferry::test
