// fuse_epilogues: elementwise instructions on what a product or convolution makes run on each piece of it while the
// cache has it.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Replaces each kernel whose op finishes its output piece by piece (a head) and the elementwise kernels after it by
/// one `tiles` instruction by pieces, before memory is placed and before fuse_elements.
///
/// Joined is a chain: the next kernel alone reads what the one before makes, may take its place, and makes a value of
/// as many elements of that dtype; its other inputs are there before the chain begins, or the chain can wait for them.
/// All of the chain work on the last value's bytes, which the head writes first. Taken are fusable kernels, and none is
/// moved past what moves messages or holds regions; the bits are those of one after another.
void fuse_epilogues(ClassPlan& plan);

}  // namespace ferry
