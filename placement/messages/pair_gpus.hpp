// pair_gpus: replaces a transfer from one task's GPU to another task's GPU by a collective of the two GPUs, so that the
// value does not pass the hosts. This needs a library with which the two GPUs can form a group.
//
// Example (abridged):
//
//     %3 = transfer(%1) float32[2] @/task:1/gpu:0  # a, which is on task 0's gpu:0
//
// becomes
//
//     %3 = collective.broadcast(%1) over {1,0} root 1 guest float32[2] @/task:1/gpu:0  # a
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void pair_gpus(Program& program);

}  // namespace ferry
