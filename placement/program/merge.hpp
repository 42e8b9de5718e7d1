// merge: equal ops on the same devices are computed once.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Takes out each op that has the definition, attributes, inputs, devices and annotation of an earlier one of its
/// region; what read it reads the earlier one. So no value is computed elsewhere than before, and none is sent that was
/// not. Never merged are ops with state, an effect, random numbers or bodies, those that run after others, copies that
/// the backward pass computes again to save memory (Graph::remade), and constants of more than 64 KiB. Linear.
void merge(Program& program);

}  // namespace ferry
