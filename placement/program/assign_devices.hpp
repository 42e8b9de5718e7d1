// assign_devices: every node gets its devices. Annotations come first; an assign goes with its variable; an op without
// an annotation goes to the mesh of an input, else to the one device that moves the fewest bytes; a constant without
// one is made wherever it is used.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Error(plan) names an op whose devices do not exist, or have no kernel for it.
void assign_devices(Program& program);

}  // namespace ferry
