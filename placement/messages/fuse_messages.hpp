// fuse_messages: sums of one dtype over the same members, by the same operator, become one collective: a bucket. And a
// collective of a value that the step computes stands right after that, so that it starts there. What is gathered of
// variables stays where it is used: the whole of it takes memory only there.
//
// Buckets fill in the order in which their values are made; of gradients that is the order of the backward pass. A
// bucket is closed once it has kFull latencies' worth of bytes (kFull × latency × bandwidth of the links between its
// members), or before a value that is made no sooner than one of its results is used. So what waits for company is
// always less than kFull latencies' worth, and of the time that a full bucket takes at most 1/kFull is latency. Only
// the program and the topology are looked at: all tasks come to the same buckets.
//
// A bucket is one vector in memory. Kernels write their results to their places in it and read the sums where they lie:
// nothing is copied. So only sums of whole vectors are fused (all_reduce, reduce), of values that a kernel of the same
// region computes in the step, or views of such; not what is bounded, computed once, or brought by another message, a
// loop or a branch.
//
// An element is folded by the schedule of the bucket, over the same members as before: on one host, where schedules
// are direct, the bits are those of the sums alone. Between hosts the schedule depends on the bytes of the bucket.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void fuse_messages(Program& program);

}  // namespace ferry
