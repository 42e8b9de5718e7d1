// fuse_epilogues: fuses a product or convolution with elementwise instructions after it. They run on each piece of its
// result while the piece is in the cache.
//
// Example (abridged):
//
//     3 MatMul p (%0, %1) -> %3
//     4 Add s (%3, %2) -> %4
//     5 Tanh y (%4) -> %5
//
// becomes
//
//     3 MatMul+Add+Tanh y (%0, %1, %2) region 2 by pieces -> %5
//     region 2 tile
//       0 MatMul p (%0, %1) -> %5
//       1 Add s (%5, %2) -> %5
//       2 Tanh y (%5) -> %5
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Replaces each kernel that finishes its output piece by piece (a head), with the elementwise kernels after it, by one
/// `tiles` instruction with other == 0, before memory is placed and before fuse_elements.
///
/// These kernels form a chain. Each kernel is the only reader of the previous kernel's output, may overwrite it, and
/// makes a value of the same dtype and sizes. Its other inputs exist before the chain begins, or the chain can move
/// down to where they exist. All kernels work on the bytes of the last value, which the head writes first. Only fusable
/// kernels join a chain, and none is moved past an instruction that moves messages or has regions. The results have the
/// same bits as if the kernels ran one after another.
///
/// On devices that run regions (Topology::gpu_regions), chains have outputs of any size. A chain never has only some of
/// the kernels that fuse_elements would join, because the values of such a group are in registers.
void fuse_epilogues(ClassPlan& plan);

}  // namespace ferry
