// Which variables a request reads and writes, and how those without a value get their initial values.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "executor/session/agreement.hpp"
#include "graph/graph.hpp"

namespace ferry {

/// The variables that a run reads (they must have a value) and writes.
struct VariableUse {
  std::vector<OpId> read, written;
};
[[nodiscard]] VariableUse variable_use(const Graph& graph, const Signature& signature);

/// The part of the entry "init" that sets these variables. Error(usage) names a variable that it does not set.
[[nodiscard]] Agreed initial_values(const Graph& graph, std::set<OpId> missing);

}  // namespace ferry
