// coalesce: joins small messages between hosts that have one source and are sent at about the same time, because each
// message costs a latency however small it is.
//
// Values may share a message if one task makes them, with one dtype, for the same tasks on other hosts. All of these
// values must be made before the first of them is needed, in the program's order, which all tasks follow. A message is
// closed
//   - if another value would make it longer than latency × bandwidth of the link. So its first value arrives at most
//     one latency later than in a message of its own, and larger values are sent alone;
//   - before a value that is made only after a receiver needs a value in the message;
//   - before a value if the source, after it made the message's first value, computes for longer than a latency (by the
//     cost of its kernels), or may have to wait for a message, a loop, a branch or a file.
// So no value is delayed by more than two latencies, and a task that needs a value early does not wait for a late
// value. The pass joins nothing on one host, because values are written in place there. PlanOptions::bucket_bytes = 0
// turns the pass off.
//
// A joined message is one vector in memory at both ends, and is sent once to each receiver. Kernels write their results
// to their places in the vector, and read them there, so nothing is copied. Therefore only values that a kernel of the
// same region computes in the step, or views of these, are joined. Feeds, variables, bounded values, values computed
// once, and values that come by another message are not joined.
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
