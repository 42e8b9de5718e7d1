// place_strands: assigns the step's instructions to the threads of a task.
//
// Example (abridged):
//
//     1 t0 Exp a0 (%0) -> %1  (movable)
//     3 t0 Tanh a2 (%0) -> %3  (movable)
//     7 t0 Tanh b2 (%3) -> %7  (movable)
//     19 t0 fetch d2 (%15)
//
// becomes
//
//     1 t0 Exp a0 (%0) -> %1
//     3 t1 Tanh a2 (%0) -> %3  after t0:1
//     7 t1 Tanh b2 (%3) -> %7
//     19 t0 fetch d2 (%15)  after t1:7
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Spreads the step's instructions over the class's threads and adds the waits that order them.
///
/// A strand is a chain of instructions; each instruction takes a value from the previous one. Strands that begin at the
/// same depth are dealt to the threads in blocks, so that neighbours share a thread. Large kernels split over all
/// threads while they run, and stay on thread 0, as do messages and instructions with regions. If waiting would cost
/// more than the threads gain, all instructions stay on thread 0.
///
/// An instruction waits for an instruction of another thread if it reads the other's output or overwrites the other's
/// input, unless another wait implies this. The order of the list remains a valid order of execution.
///
/// Must run after join_regions. Clears Instruction::may.
void place_strands(ClassPlan& plan);

}  // namespace ferry
