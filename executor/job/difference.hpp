// Checks that all tasks have the same graph and the same libraries; the errors say where they differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"
#include "graph/graph.hpp"

namespace ferry {

/// Throws Error(plan), the same on all tasks: "the tasks have different <what>", with the first of `lines` in which a
/// task differs from task 0, in both versions. All tasks call it; each task sends 8 bytes for each line, and then one
/// line.
[[noreturn]] void reject_difference(std::string_view what, const std::vector<std::string>& lines, Transport& transport,
                                    const Deadline& deadline);

/// Throws Error(plan), the same on all tasks, unless all tasks pass the same `library` (their KernelTable::library()).
/// All tasks call it.
void require_same_library(std::string_view library, Transport& transport, const Deadline& deadline);

/// Throws Error(plan), the same on all tasks, unless all tasks have the same graph. The error names the first op that
/// differs, and the task. All tasks call it.
void require_same_graph(const Graph& graph, Transport& transport, const Deadline& deadline);

}  // namespace ferry
