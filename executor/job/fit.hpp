// Whether saved variables fit a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// Why saved variables with these names and types do not fit `model`: a text that lists the missing, extra and
/// differing ones (at most 12); empty if they fit. Those in `unset` may be missing.
[[nodiscard]] std::string fit_problem(const Graph& model, const std::map<std::string, Type, std::less<>>& saved,
                                      const std::set<std::string, std::less<>>& unset);

}  // namespace ferry
