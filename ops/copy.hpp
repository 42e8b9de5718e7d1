// Copying ops, within a graph or from one to another.
#pragma once

#include <span>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies into `to` what the results of `from`, a subgraph, need, and gives the copies of the results. The parameters
/// of `from` become `arguments`, values that `to` can use. Copies have the source's lines and annotations, and draw the
/// same random numbers. An op that has an effect is not copied: the copy of its first input stands for it.
Values copy_results(const Graph& from, Graph& to, std::span<const Value> arguments);

/// Adds to `to` an op like `op`, of the same or another graph, with these inputs: with its line, its annotation and
/// copies of its bodies; it draws the same random numbers.
Values copy_op(const Op& op, Graph& to, const Values& inputs);

}  // namespace ferry
