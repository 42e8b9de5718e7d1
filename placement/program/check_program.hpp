// check_program: what holds of a program after every pass.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Nodes stand in regions once each; every input was made by an earlier node of the region or of one around it, or is
/// one of their parameters; regions, operands and device sets lead to what is there. Once devices are
/// assigned (Program::placed) only constants that go to their users have none. Error(bug) names the node that breaks
/// it. Linear; thread-safe.
void check_program(const Program& program);

}  // namespace ferry
