// choose_chunks: a large value of a GPU that goes by way of hosts is sent in chunks, so that the copies between hosts
// and GPUs and the message between the hosts overlap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/program/program.hpp"
#include "placement/program/users.hpp"

namespace ferry {

/// The number of chunks of a value that takes the least time over several hops, one after another. Each chunk has the
/// latencies of all hops, and after the first one waits for the slowest hop alone. Let L be the sum of the hops'
/// latencies, S the sum of their seconds per byte, and M the seconds per byte of the slowest hop. Then k chunks of N
/// bytes take L + S N/k + (k-1) (L + M N/k). The minimum is at the k with k (k-1) <= N (S-M)/L < k (k+1). At most 64.
[[nodiscard]] std::int64_t best_chunks(std::int64_t bytes, std::span<const LinkCost> hops);

/// The elements of each chunk in which a transfer goes; one if it goes as a whole. A transfer in the step has chunks,
/// of a value that no collective, and nothing on a host of either end, needs as a whole. What a host makes for a task
/// with which it shares memory has none: a kernel may put it there.
[[nodiscard]] std::vector<std::int64_t> choose_chunks(const Program& program, const Users& users, NodeId transfer);

}  // namespace ferry
