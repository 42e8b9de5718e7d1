// drop_identities: what does nothing is left out.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Removes ops with a result that has the type, the bits and the devices of an input. Examples: x * 1, x / 1, casts,
/// broadcasts, slices and transposes that change nothing, reshapes to the same shape, and a transpose that undoes
/// another. What read the op reads that input. x + 0 stays, because -0.0 + 0 is 0.0. An op with a layout annotation
/// stays, as do those that merge leaves alone. Linear.
void drop_identities(Program& program);

}  // namespace ferry
