// serve_workers: if updates of variables are asynchronous (ops/train/asynchronous.hpp), gives the task that has the
// variables one turn for each worker, instead of one step that waits for all workers. The server makes and sends each
// worker's inputs for that worker alone. From a sum over the workers, the server receives each worker's part
// separately. It makes the updates with this part alone, from the current values of the variables. Nodes of a turn are
// in Program::turns.
//
// Other uses of such sums, for example a loss that is fetched, get the sum of the latest parts of all workers; the
// server adds them up. All other work of the server comes after the turns. The pass changes nothing if all work is on
// one task, or if the server has no workers.
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

/// Throws Error(plan) with the user's line if workers would have to wait for one another, or if a server would wait for
/// anything except its workers.
void serve_workers(Program& program);

}  // namespace ferry
