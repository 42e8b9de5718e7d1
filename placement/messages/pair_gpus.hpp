// pair_gpus: a value that goes from one task's GPU to another's, whose library lets them work together, goes there by a
// collective of the two instead of by way of their hosts.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void pair_gpus(Program& program);

}  // namespace ferry
