// Ops that return facts about a task's machine.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The name of the host of the task that computes the value: uint8[64], the bytes of the name and then zeros. A longer
/// name is truncated. The value depends on the task, so you must place it on one task, by a device scope or annotation
/// (else Error(plan) when the plan is made). Planning never moves the op to another task.
///
///     auto there = g.device("/task:1");
///     const Value name = host_name(g);  // uint8[64]
Value host_name(Graph& graph, source_location at = source_location::current());

/// The op HostName.
[[nodiscard]] std::span<const OpDef* const> host_ops();

}  // namespace ferry
#pragma GCC visibility pop
