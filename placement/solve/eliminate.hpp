// eliminate: finds the optimum of a small problem, or of a problem with a simple graph.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/solve/problem.hpp"

namespace ferry {

/// The best choices, found by eliminating all variables in the order of the sizes of their tables. Returns nothing if a
/// table would have more than `most` entries.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> eliminate_all(const Problem& problem, double most);

}  // namespace ferry
