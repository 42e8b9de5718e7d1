// coalesce: messages between hosts that have one source and one time become one. A message costs a latency however
// small it is, so a hundred of them cost a hundred.
//
// Values may share a message when one task makes them, of one dtype, for the same tasks on other hosts, and all are
// made before one of them is needed, in the order of the program, which all tasks keep to. A message is closed
//   - once another value would make it longer than latency × bandwidth of the link: what came first is there at most
//     one more latency later than it would have been alone, so larger values go alone;
//   - before a value that is made after a receiver needs one of those that are in it;
//   - before a value for which the source computes, after the first one was made, longer than a latency, by the cost
//     of its kernels, or for which it may have to wait: for a message, a loop, a branch, a file.
// So no value waits for company for more than two latencies, and a task that needs one early does not wait for a late
// one. On one host nothing is joined: values are written in place there.
//
// A joined message is one vector in memory at both ends: kernels write their results to their places in it and read
// them where they lie, and it is sent once to each receiver. Nothing is copied. So only values are joined that a kernel
// of the same region computes in the step, or views of such: not what is fed or bounded, variables, what is computed
// once, or what another message brings.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void coalesce(Program& program);

}  // namespace ferry
