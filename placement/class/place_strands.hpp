// place_strands: which thread of a task runs which instruction of the step.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Spreads the step's instructions over the class's threads and adds the waits that order them.
///
/// A strand is a chain: an instruction goes on where the value that it takes was made. Strands that begin together are
/// dealt to the threads in blocks, so that neighbours share a thread, as a program for MPI would divide them by owner.
/// Large kernels split inside over all threads and stay on thread 0, as does all that moves messages or holds regions.
/// Where the threads would wait more than they gain, everything stays on thread 0.
///
/// An instruction waits for those of other threads whose values it takes, or whose inputs it writes over, unless
/// another wait implies it. The list's order remains one in which everything can run.
///
/// Comes after join_regions; no instruction is movable any more then.
void place_strands(ClassPlan& plan);

}  // namespace ferry
