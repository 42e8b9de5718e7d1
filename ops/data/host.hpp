// Facts about a task's machine.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The name of the host of the task that computes it: uint8[64], its bytes and then zeros; a longer name is truncated.
/// The value depends on the task, so it must be placed on one task, by a device scope or annotation (else Error(plan)
/// when the plan is made), and it is never moved to another.
///
///     auto there = g.device("/task:1");
///     const Value name = host_name(g);
Value host_name(Graph& graph, source_location at = source_location::current());

/// HostName.
[[nodiscard]] std::span<const OpDef* const> host_ops();

}  // namespace ferry
#pragma GCC visibility pop
