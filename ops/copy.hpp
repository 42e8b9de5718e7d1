// Copying ops from one graph to another.
#pragma once

#include <span>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies into `to` what the results of `from`, a subgraph, need, and gives the copies of the results. The parameters
/// of `from` become `arguments`, values that `to` can use. Copies have the source's lines and annotations, and draw the
/// same random numbers. An op that has an effect is not copied: the copy of its first input stands for it.
Values copy_results(const Graph& from, Graph& to, std::span<const Value> arguments);

}  // namespace ferry
