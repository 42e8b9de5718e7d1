// serve_workers: where updates of variables are asynchronous (ops/train/asynchronous.hpp), gives the task that has the
// variables a turn of each worker instead of one that waits for all. The server makes and sends each worker's inputs
// for that worker alone. From a sum over the workers, the server receives each worker's part separately. It makes the
// updates with this part alone, from the current values of the variables. Nodes of a turn are in Program::turns.
//
// Sums that are wanted for something else, such as a loss that is fetched, are added up on the server from what each
// worker gave last. All other work of the server comes after the turns. Where all is on one task, or the server has no
// workers, nothing is changed.
//
// Example (abridged):
//
//     %8 = collective.broadcast(%1) over {1,0} root 1 guest float32[3][R] @mesh[1]/cpu:0{1}  # h
//     %9 = transfer(%4) float32[3] @/task:0/cpu:0  # s
//     %5 = Sub(%0, %9) float32[3] @/task:0/cpu:0  # n
//
// becomes
//
//     task 0 serves tasks 1 at most 4 apart
//     %10 = Neg(%0) float32[3] @/task:0/cpu:0 turn 0.0 give  # h
//     %11 = transfer(%10) float32[3] @/task:1/cpu:0 turn 0.0 give  # h
//     %13 = transfer(%12) float32[3] @/task:0/cpu:0 turn 0.0 take  # s
//     %14 = Sub(%0, %13) float32[3] @/task:0/cpu:0 turn 0.0 take  # n
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Error(plan) with the user's line where workers would have to wait for one another, or a server for something other
/// than its workers.
void serve_workers(Program& program);

}  // namespace ferry
