// Copies ops within a graph, or from one graph to another.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies the ops on which the results of `from` (a subgraph) depend into `to`, and returns the copies of the results.
/// `arguments`, values that `to` can use, replace the parameters of `from`. Copies have the originals' lines and
/// annotations, and draw the same random numbers. An op with an effect is not copied: the copy of its first input
/// replaces its output.
Values copy_results(const Graph& from, Graph& to, std::span<const Value> arguments);

/// Adds to `to` a copy of `op`, which may be in another graph, with these inputs. The copy has the line and annotation
/// of `op` and copies of its bodies. It draws the same random numbers as `op`. With `draws` it draws other numbers;
/// copies with equal `draws` draw the same numbers.
Values copy_op(const Op& op, Graph& to, const Values& inputs, std::string_view draws = {});

}  // namespace ferry
