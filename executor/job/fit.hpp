// Checks whether saved variables fit a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// Whether saved variables that the graph does not have are an error (refused) or are ignored (unused).
enum class Extra { refused, unused };

/// Why variables with these names and types do not fit `model`: a text that lists missing variables, extra variables,
/// and variables of another type; empty if they fit. Variables in `unset` may be missing.
[[nodiscard]] std::string fit_problem(const Graph& model, const std::map<std::string, Type, std::less<>>& saved,
                                      const std::set<std::string, std::less<>>& unset, Extra extra);

}  // namespace ferry
