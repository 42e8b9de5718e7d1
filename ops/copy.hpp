// Copying ops, within a graph or from one to another.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies the ops that the results of `from`, a subgraph, depend on into `to`, and returns the copies of the results.
/// `arguments`, values that `to` can use, take the place of the parameters of `from`. Copies have the originals' lines
/// and annotations, and draw the same random numbers. An op that has an effect is not copied: the copy of its first
/// input takes the place of its output.
Values copy_results(const Graph& from, Graph& to, std::span<const Value> arguments);

/// Adds to `to` a copy of `op`, which may be of another graph, with these inputs. The copy has the line and annotation
/// of `op` and copies of its bodies. It draws the same random numbers, or, where `draws` is given, others: copies with
/// equal `draws` draw the same.
Values copy_op(const Op& op, Graph& to, const Values& inputs, std::string_view draws = {});

}  // namespace ferry
