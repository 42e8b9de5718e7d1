// check_program: checks the rules that a program satisfies after every pass.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Checks that each node is in one region, once. Every input must come from an earlier node of the region or of an
/// enclosing region, or be a parameter of these regions. Regions, operands and device sets must exist, and values must
/// have layouts for their meshes. After devices are assigned (Program::placed), only constants, loops and branches may
/// have no devices. Error(bug) names the node that breaks a rule. The check is linear and thread-safe.
void check_program(const Program& program);

}  // namespace ferry
