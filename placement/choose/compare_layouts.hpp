// compare_layouts: the layouts that were chosen for an op, compared with the next best ones.
#pragma once

#include <string>
#include <vector>

#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// Compares the chosen layouts of each node with the next best ones, if its op matches the pattern (op_pattern.hpp):
/// solves the problem of choose_layouts again, without the layouts that were chosen for the node. The lower bound of
/// that problem shows the least extra time of a step with other layouts. If the tasks have a limit of memory, the other
/// layouts fit into it. Layouts of variables are free if the planned
/// request decides them (AutoMesh::of_request). The pattern may also be the name of a value of the op, such as
/// "split:1".
[[nodiscard]] std::vector<Alternative> compare_layouts(const Program& program, const std::string& pattern);

}  // namespace ferry
