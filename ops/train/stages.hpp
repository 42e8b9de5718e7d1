// Stages: a chain of ops cut into parts that take about the same time. Not for users: pipeline.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace ferry {

/// The bytes of a value of the type. Sizes that are not known count as 1.
[[nodiscard]] std::int64_t known_bytes(const Type& type);

/// The time that planning takes an op for, in picoseconds (graph/op/op_time.hpp). Sizes that are not known count as 1.
[[nodiscard]] std::int64_t planned_time(const Op& op);

/// The first op of each of `stages` parts of consecutive ops. There are at least `stages` ops. The slowest part is
/// within 1/20 of the optimum. Within that, no part takes less than half of the mean, if possible. Within that, the
/// fewest bytes go from part to part. `bytes` has, for each op, those that ops up to it have made for later ones.
[[nodiscard]] std::vector<std::size_t> cut_evenly(std::span<const std::int64_t> times,
                                                  std::span<const std::int64_t> bytes, std::size_t stages);

/// The same for ops of a graph, by planned_time() and the bytes that go from one op to later ones.
[[nodiscard]] std::vector<std::size_t> cut_into_stages(const Graph& graph, std::span<const OpId> ops,
                                                       std::size_t stages);

}  // namespace ferry
