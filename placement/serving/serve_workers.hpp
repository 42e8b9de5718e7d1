// serve_workers: where updates of variables are asynchronous (ops/train/asynchronous.hpp), gives the task that has the
// variables a turn of each worker instead of one that waits for all. What a worker needs of the server is made and sent
// for it alone; of a sum over the workers the server gets each one's part, and makes the updates with it alone, from
// the variables as they are then. Nodes of a turn are in Program::turns.
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
