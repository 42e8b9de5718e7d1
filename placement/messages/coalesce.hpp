// coalesce: small messages between hosts that have one source and are sent at about the same time become one. Each
// message costs a latency however small it is.
//
// Values may share a message if one task makes them, with one dtype, for the same tasks on other hosts. All of them
// must be made before one of them is needed, in the program's order, which all tasks follow. A message is closed
//   - once another value would make it longer than latency × bandwidth of the link: so its first value arrives at most
//     one latency later than it would have alone, and larger values go alone;
//   - before a value that is made only after a receiver needs one that is in it;
//   - before a value for which the source, since it made the first one, computes for longer than a latency (by the cost
//     of its kernels), or may have to wait: for a message, a loop, a branch, a file.
// So no value is delayed by more than two latencies, and a task that needs one early does not wait for a late one. On
// one host nothing is joined: values are written in place there. PlanOptions::bucket_bytes = 0 turns the pass off.
//
// A joined message is one vector in memory at both ends: kernels write their results to their places in it and read
// them there, and it is sent once to each receiver. Nothing is copied. So only values that a kernel of the same region
// computes in the step, or views of these, are joined. Feeds, variables, bounded values, values computed once, and
// values that come by another message are not joined.
//
// Example (abridged):
//
//     %4 = transfer(%1) float32[4] @/task:1/cpu:0  # a, to another host
//     %5 = transfer(%2) float32[4] @/task:1/cpu:0  # b
//     %3 = Add(%4, %5) float32[4] @/task:1/cpu:0  # c
//
// becomes
//
//     %7, %8 = transfer(%1, %2) float32[4], float32[4] @/task:1/cpu:0  # a and 1 more
//     %3 = Add(%7, %8) float32[4] @/task:1/cpu:0  # c
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void coalesce(Program& program);

}  // namespace ferry
