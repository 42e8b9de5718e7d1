// choose_layouts: chooses the layouts of all ops on the mesh of placement by itself, all at once.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Fills Program::chosen with the layouts that take the least time by the model (model.hpp). Does nothing for a program
/// without an AutoMesh.
void choose_layouts(Program& program);

}  // namespace ferry
