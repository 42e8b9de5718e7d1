// assign_devices: every node gets its devices. Annotations come first. An assign goes with its variable. An op without
// an annotation goes to the mesh of an input, else to the device that moves the fewest bytes. A constant without an
// annotation is made wherever it is used.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Error(plan) names an op if its devices do not exist or have no kernel for it.
void assign_devices(Program& program);

}  // namespace ferry
