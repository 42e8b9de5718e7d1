// pair_gpus: a value that goes from one task's GPU to another's goes by a collective of the two GPUs instead of by way
// of their hosts, if their library lets them work together.
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
