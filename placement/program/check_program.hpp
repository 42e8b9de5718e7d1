// check_program: the rules that a program keeps after every pass.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Checks that each node is in one region, once. Every input must come from an earlier node of the region or of an
/// enclosing region, or be one of their parameters. Regions, operands and device sets must exist, and values must have
/// layouts for their meshes. Once devices are assigned (Program::placed), only constants, loops and branches may have
/// none. Error(bug) names the node that breaks it. Linear; thread-safe.
void check_program(const Program& program);

}  // namespace ferry
