// fuse_messages: joins sums of one dtype over the same members, by the same operator, into one collective, which is
// called a bucket. It also moves a collective of a value that the step computes to right after the node that makes the
// value, so that the collective starts early. A gather of a variable stays where its result is used, so that the whole
// value takes memory only there.
//
// Buckets fill in the order in which their values are made; for gradients that is the order of the backward pass. A
// bucket is closed when it is full, or before a value that is made only after one of its results is used. A bucket is
// full at kFull × latency × bandwidth of the links between its members, or at PlanOptions::bucket_bytes if given. So
// the delayed bytes always take less than kFull latencies to send, and at most 1/kFull of the time of a full bucket is
// latency. The buckets depend only on the program and the topology, so all tasks make the same buckets.
//
// A bucket is one vector in memory. Kernels write their results to their places in the vector and read the sums there,
// so nothing is copied. Therefore only sums of whole vectors (all_reduce, reduce) are fused, and only of values that a
// kernel of the same region computes in the step, or of views of these. Values that are bounded, computed once, or come
// from another message, a loop or a branch are not fused.
//
// Elements are folded by the schedule of the bucket, over the same members as before. Among up to 64 members of one
// host, sums are folded in the order of the members, so the bits equal the bits of separate sums. Elsewhere the
// schedule depends on the bytes of the bucket.
//
// Example (abridged):
//
//     %7 = collective.all_reduce(%2) sum over {0-1} float32[3][R] @mesh[2]/cpu:0{0-1}  # s
//     %4 = Neg(%7) float32[3][R] @mesh[2]/cpu:0{0-1}  # r
//     %8 = collective.all_reduce(%3) sum over {0-1} float32[3][R] @mesh[2]/cpu:0{0-1}  # t
//     %5 = Neg(%8) float32[3][R] @mesh[2]/cpu:0{0-1}  # q
//
// becomes
//
//     %9, %10 = collective.all_reduce(%2, %3) sum over {0-1} float32[3][R], float32[3][R] @mesh[2]/cpu:0{0-1}
//     %4 = Neg(%9) float32[3][R] @mesh[2]/cpu:0{0-1}  # r
//     %5 = Neg(%10) float32[3][R] @mesh[2]/cpu:0{0-1}  # q
#pragma once

#include <cstdint>

#include "placement/program/program.hpp"

namespace ferry {

void fuse_messages(Program& program);

/// The bytes of a full bucket of values in host memory; `one_host`: all members of the sum are on one host.
[[nodiscard]] std::int64_t full_bucket_bytes(const Program& program, bool one_host);

}  // namespace ferry
