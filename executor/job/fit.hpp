// Whether saved variables are those of a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// What keeps variables with these types from being those of `model`, as text that lists missing, extra and differing
/// ones; empty: nothing. Those in `unset` may be missing.
[[nodiscard]] std::string fit_problem(const Graph& model, const std::map<std::string, Type, std::less<>>& saved,
                                      const std::set<std::string, std::less<>>& unset);

}  // namespace ferry
