// --budget: limits the messages and the memory of a step.
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
/// Replaces each limit of the graph that `given` has.
void apply_budget(Graph& graph, const Budget& given);

}  // namespace ferry
