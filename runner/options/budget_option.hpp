// --budget: limits of a step.
#pragma once

#include <string>

#include "graph/budget.hpp"
#include "graph/graph.hpp"

namespace CLI {
class App;
}

namespace ferry {

/// Adds --budget, which fills `budget`. Error(usage) for malformed or repeated arguments.
void add_budget_option(CLI::App& app, Budget& budget);
/// Each limit that is given takes the place of the graph's own.
void apply_budget(Graph& graph, const Budget& given);

}  // namespace ferry
