// serve_workers: where updates of variables are asynchronous (ops/train/asynchronous.hpp), gives the task that has the
// variables a turn of each worker instead of one that waits for all. The server makes and sends each worker's inputs
// for that worker alone. From a sum over the workers, the server receives each worker's part separately. It makes the
// updates with this part alone, from the current values of the variables. Nodes of a turn are in Program::turns.
//
// Sums that are wanted for something else, such as a loss that is fetched, are added up on the server from what each
// worker gave last. All other work of the server comes after the turns. Where all is on one task, or the server has no
// workers, nothing is changed.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Error(plan) with the user's line where workers would have to wait for one another, or a server for something other
/// than its workers.
void serve_workers(Program& program);

}  // namespace ferry
