// Feeds from the command line.
#pragma once

#include <string>
#include <vector>

#include "executor/session.hpp"
#include "graph/graph.hpp"

namespace ferry {

/// NAME=NUMBER gives a scalar of the input's dtype, NAME=FILE.npy the file's array. Error(usage): no such input (names
/// the nearest), one given twice, a number that the dtype cannot hold; Error(file): a file that cannot be read.
[[nodiscard]] TensorMap parse_feeds(const Graph& graph, const std::vector<std::string>& feeds);

}  // namespace ferry
