// reshard: gives every value its layout, and inserts the nodes that bring values to the devices and layouts where they
// are used (Converter has the cases). After this pass the inputs of a node are where it needs them; a replicated value
// of a mesh may be read by one device of that mesh.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Error(plan) names an op that cannot be laid out as annotated.
void reshard(Program& program);

}  // namespace ferry
