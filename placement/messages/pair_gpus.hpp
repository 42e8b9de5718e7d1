// pair_gpus: a value that goes from one task's GPU to another's goes by a collective of the two GPUs instead of by way
// of their hosts, if their library lets them work together.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void pair_gpus(Program& program);

}  // namespace ferry
