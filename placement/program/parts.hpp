// Parts: the part of a value that a task has, and the task that sends it.
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

/// The index into Plan::windows of a task's part of the value; kNone if each task has all of it. `grouping` gives the
/// index in the plan for an index into Program::groupings.
[[nodiscard]] std::uint32_t held_window(const Program& program, const PValue& value, PlanTables& tables,
                                        const std::function<std::uint32_t(std::uint32_t)>& grouping);

/// Whether all parts of the value have the same size, those along the axis `but` aside.
[[nodiscard]] bool is_even(const Program& program, const PValue& value, std::size_t but = kNone);

/// Whether each task gives rows of the feed.
[[nodiscard]] bool is_fed_by_parts(const Program& program, const Node& feed);

/// The layout in which a feed is given: by parts each axis of the mesh splits dim 0, else its task has all of it.
[[nodiscard]] Layout fed_layout(const Program& program, const Node& feed);

/// The task that sends in a transfer node.
[[nodiscard]] std::int32_t sender_of(const Program& program, const Node& transfer);

/// Whether a value's bytes are on a GPU when they have been made: feeds and what the host computes are not.
[[nodiscard]] bool is_on_gpu(const Program& program, PValueId value);

}  // namespace ferry
