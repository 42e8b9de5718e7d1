// fuse_epilogues: elementwise instructions on what a product or convolution makes run on each piece of it while the
// cache has it.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "placement/class/fuse_elements.hpp"
#include "placement/class/region_lists.hpp"
#include "placement/plan/plan_tables.hpp"

namespace ferry {

/// Replaces in `lists` each kernel of `heads` (ops whose kernels finish their output piece by piece) and the
/// elementwise kernels after it by one `tiles` instruction by pieces, before memory is placed and before fuse_elements.
///
/// Joined is a chain: the next kernel alone reads what the one before makes, may take its place, and makes a value of
/// as many elements of that dtype; its other inputs are there before the chain begins, or the chain can wait for them.
/// All of the chain work on the last value's bytes, which the head writes first. Taken are kernels on any thread, and
/// none is moved past what moves messages or holds regions; the bits are those of one after another.
void fuse_epilogues(PlanClass& plan, RegionLists& lists, PlanTables& tables, const Fusable& what,
                    const std::unordered_set<std::uint32_t>& heads);

}  // namespace ferry
