// Stages: cuts a chain of ops into parts that take about the same time. For pipeline.hpp; not for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/compute_costs.hpp"

namespace ferry {

/// Cuts ops into `stages` parts of consecutive ops, and returns the first op of each part. There must be at least
/// `stages` ops. The slowest part takes at most 1/20 more than the optimum. Among such cuts, every part takes at least
/// half of the mean, if possible. Among these, the fewest bytes go from part to part. bytes[i] are the bytes that the
/// ops up to i make for later ops.
[[nodiscard]] std::vector<std::size_t> cut_evenly(std::span<const std::int64_t> times,
                                                  std::span<const std::int64_t> bytes, std::size_t stages);

/// The same for ops of a graph, by their planned times (graph/op/op_time.hpp) and the bytes that they make for later
/// ops. The op's time counts once more for the gradient of each input that depends on a variable, because an op's
/// backward pass is in its stage.
[[nodiscard]] std::vector<std::size_t> cut_into_stages(const Graph& graph, std::span<const OpId> ops,
                                                       std::size_t stages, const ComputeCosts& costs);

}  // namespace ferry
