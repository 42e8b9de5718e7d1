// Rules of --devices: a file that places ops.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace ferry {

/// Places ops as the file says, whatever the graph's own annotations are. Each line has a pattern for names of ops and
/// a device, or a layout on a mesh of tasks. Patterns have * and ? as in a shell, but both also match '/'. The first
/// line that matches an op places it.
///
///     # comments and empty lines are skipped
///     encoder/*     /task:1/cpu:0
///     */weights     replicated on dp
///     x             split(0),replicated on dp=*,tp=2
///     y             partial(sum) on dp on /job:worker/task:*
///
/// A layout has one word for each axis of the mesh; all outputs of an op get it. An axis without a size gets as many
/// tasks as there are, divided by the sizes of the other axes. Ops in bodies of loops and branches are also placed by
/// their names. Error(usage) names the line, and points at the place in it, if the line is malformed or its pattern
/// matches no op. Error(file) if the file cannot be read.
void apply_device_rules(Graph& graph, const std::string& path);

}  // namespace ferry
