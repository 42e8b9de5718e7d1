// choose_chunks: cuts a large value of a GPU that is sent through hosts into chunks, so that the copies between hosts
// and GPUs and the message between the hosts overlap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/program/program.hpp"
#include "placement/program/users.hpp"

namespace ferry {

/// The number of chunks that minimizes the time of a value of `bytes` bytes over several hops in a row. Each chunk pays
/// the latencies of all hops; after the first chunk, a chunk waits only for the slowest hop. Let L be the sum of the
/// hops' latencies, S the sum of their seconds per byte, and M the seconds per byte of the slowest hop. Then k chunks
/// of N bytes take L + S N/k + (k-1) (L + M N/k). The minimum is at the k with k (k-1) <= N (S-M)/L < k (k+1). The
/// result is at most 64.
[[nodiscard]] std::int64_t best_chunks(std::int64_t bytes, std::span<const LinkCost> hops);

/// The number of elements of each chunk of a transfer. A transfer that is sent whole has one chunk. Only a transfer
/// within the step has several chunks, and only if no collective, and no op on the host of either end, needs the whole
/// value. A value from a host to a task with shared memory is sent whole, because a kernel may write it there directly.
[[nodiscard]] std::vector<std::int64_t> choose_chunks(const Program& program, const Users& users, NodeId transfer);

}  // namespace ferry
