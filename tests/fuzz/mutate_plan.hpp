// Random changes of a plan that leave its file well-formed more often than not: what a forger with ferry's own code
// would write.
#pragma once

#include "plan/plan.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// Changes one to three fields anywhere in `plan`: a number becomes another, most often the same field's elsewhere;
/// dims are permuted, joined or resized with the bytes to fit; attributes get other values, also of other kinds;
/// instructions are exchanged, duplicated or left out. Gives the names of what was changed, for messages.
std::string mutate(Plan& plan, Dice& dice);

}  // namespace ferry::test
