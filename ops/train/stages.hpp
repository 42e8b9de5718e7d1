// Stages: a chain of ops cut into parts that take about the same time. Not for users: pipeline.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/compute_costs.hpp"

namespace ferry {

/// The first op of each of `stages` parts of consecutive ops. There are at least `stages` ops. The slowest part is
/// within 1/20 of the optimum. Within that, no part takes less than half of the mean, if possible. Within that, the
/// fewest bytes go from part to part. `bytes` has, for each op, those that ops up to it have made for later ones.
[[nodiscard]] std::vector<std::size_t> cut_evenly(std::span<const std::int64_t> times,
                                                  std::span<const std::int64_t> bytes, std::size_t stages);

/// The same for ops of a graph, by their planned times (graph/op/op_time.hpp) and the bytes that go from one op to
/// later ones. The gradient of each input that depends on a variable counts as the op does, since the backward pass of
/// an op is in its stage.
[[nodiscard]] std::vector<std::size_t> cut_into_stages(const Graph& graph, std::span<const OpId> ops,
                                                       std::size_t stages, const ComputeCosts& costs);

}  // namespace ferry
