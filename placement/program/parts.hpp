// Parts: the part of a value on a task, and the task that sends a value.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// The index along `axis` of the task at `position` in the mesh.
[[nodiscard]] std::int64_t coordinate(const Where& where, std::size_t position, std::size_t axis);

/// Sizes of the part of a value that `task` holds; the task must be in the value's device set.
[[nodiscard]] std::vector<std::int64_t> local_sizes(const Program& program, const PValue& value, std::int32_t task);

/// The index into Plan::windows of a task's part of the value; kNone if each task has the whole value. `grouping`
/// converts an index into Program::groupings to an index into Plan::groupings.
[[nodiscard]] std::uint32_t held_window(const Program& program, const PValue& value, PlanTables& tables,
                                        const std::function<std::uint32_t(std::uint32_t)>& grouping);

/// Whether all parts of the value have the same size; sizes along mesh axis `but` are ignored.
[[nodiscard]] bool is_even(const Program& program, const PValue& value, std::size_t but = kNone);

/// Whether the feed is given by parts: each task gives its rows.
[[nodiscard]] bool is_fed_by_parts(const Program& program, const Node& feed);

/// The layout in which a feed is given. A feed by parts has dim 0 split by each axis of the mesh; otherwise one task
/// has the whole feed.
[[nodiscard]] Layout fed_layout(const Program& program, const Node& feed);

/// The task that sends the value of a transfer node.
[[nodiscard]] std::int32_t sender_of(const Program& program, const Node& transfer);

/// Whether a value's bytes are on a GPU when they have been made. False for feeds and for values that the host
/// computes.
[[nodiscard]] bool is_on_gpu(const Program& program, PValueId value);

}  // namespace ferry
