// Plan text: the text of a plan that `ferry plan` prints and that tests compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The plan as lines: totals, tasks, feeds and fetches, channels, collectives, then each class with its arenas, buffers
/// and instructions. Equal plans give equal text. Host names are left out. Takes time linear in the plan's size;
/// thread-safe.
///
///     class 2: task 2, 1 thread, cpu:0 192 bytes a step and 0 kept
///       %0 a int32[3] step+0
///       step
///         0 receive 0 -> %0
///         1 receive_wait 0 -> %0
///         2 Add c (%0, %1) -> %2  at add.cpp:12
[[nodiscard]] std::string text_of(const Plan& plan);

/// The part of text_of() with the totals: the traffic and copies of a step, of each iteration of a loop and of each
/// side of a branch in it; and the size of the plan's buckets.
[[nodiscard]] std::string totals_text_of(const Plan& plan);

/// The first line of class `index` in text_of().
[[nodiscard]] std::string heading_of(const Plan& plan, std::uint32_t index);

/// "class 0: tasks 0-2", a line for each class; `class_of` has the class of each task.
[[nodiscard]] std::string roles_text(const std::vector<std::uint32_t>& class_of);

/// The action of an instruction, without its number and the user's line: "Add c (%0, %1) -> %2".
[[nodiscard]] std::string text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction);

/// The tasks of class `index`, in order.
[[nodiscard]] std::vector<int> tasks_of_class(const Plan& plan, std::uint32_t index);

}  // namespace ferry
#pragma GCC visibility pop
