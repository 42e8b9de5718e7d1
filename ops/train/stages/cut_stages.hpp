// Stages: cuts a chain of ops into parts that take about the same time. For pipeline.hpp and placement by itself; not
// for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/compute_costs.hpp"

namespace ferry {

/// A limit of the memory of each part: the sum of `of_ops` over the ops of the part is at most `most`.
struct HeldBytes {
  std::span<const std::int64_t> of_ops = {};  ///< empty: no op holds memory
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t of(std::size_t op) const { return of_ops.empty() ? 0 : of_ops[op]; }
};

/// Cuts ops into `stages` parts of consecutive ops, and returns the first op of each part. There must be at least
/// `stages` ops, and parts within the limit of memory. The slowest part takes at most 1/20 more than the optimum. Among
/// such cuts, every part takes at least half of the mean, if possible. Among these, the fewest bytes go from part to
/// part. bytes[i] are the bytes that the ops up to i make for later ops.
[[nodiscard]] std::vector<std::size_t> cut_evenly(std::span<const std::int64_t> times,
                                                  std::span<const std::int64_t> bytes, std::size_t stages,
                                                  const HeldBytes& held = {});

/// The memory of stages, for cut_into_stages().
struct StageMemory {
  std::vector<std::int64_t> of_ops = {};  ///< for each op, the bytes that it adds to its stage; empty: not considered
  /// The largest stage without a limit holds more bytes than necessary. This is the share of them that the cut must
  /// save: 0 for the fastest cut, 100 for the least memory.
  int saved_percent = 0;
};

/// The same for ops of a graph, by their planned times (graph/op/op_time.hpp) and the bytes that they make for later
/// ops. The op's time counts once more for the gradient of each input that depends on a variable, because an op's
/// backward pass is in its stage.
[[nodiscard]] std::vector<std::size_t> cut_into_stages(const Graph& graph, std::span<const OpId> ops,
                                                       std::size_t stages, const ComputeCosts& costs,
                                                       const StageMemory& memory = {});

}  // namespace ferry
