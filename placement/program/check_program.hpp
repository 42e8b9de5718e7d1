// check_program: the rules that a program keeps after every pass.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Checks that each node is in one region, once; that every input was made by an earlier node of the region or of one
/// around it, or is one of their parameters; that regions, operands and device sets exist; and that values have layouts
/// for their meshes. Once devices are assigned (Program::placed), only constants, loops and branches may have none.
/// Error(bug) names the node that breaks it. Linear; thread-safe.
void check_program(const Program& program);

}  // namespace ferry
