// Plan text: what `ferry plan` prints, and what tests compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The plan in lines: totals, tasks, feeds and fetches, channels, collectives, then each class with its arenas, buffers
/// and instructions. Equal plans give equal text. Host names are left out. Linear in the plan's size; thread-safe.
///
///     class 2: task 2, 1 thread, cpu:0 192 bytes a step and 0 kept
///       %0 a int32[3] step+0
///       step
///         0 receive 0 -> %0
///         1 receive_wait 0 -> %0
///         2 Add c (%0, %1) -> %2  at add.cpp:12
[[nodiscard]] std::string text_of(const Plan& plan);

/// Only the totals of that text: what a step sends and copies, and each turn of a loop and side of a branch in it; and
/// the size of its buckets.
[[nodiscard]] std::string totals_text_of(const Plan& plan);

/// The line of that text with which class `index` begins.
[[nodiscard]] std::string heading_of(const Plan& plan, std::uint32_t index);

/// "class 0: tasks 0-2", a line for each class; `class_of` has the class of each task.
[[nodiscard]] std::string roles_text(const std::vector<std::uint32_t>& class_of);

/// What an instruction does, without its number and the user's line: "Add c (%0, %1) -> %2".
[[nodiscard]] std::string text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction);

/// The tasks of class `index`, in order.
[[nodiscard]] std::vector<int> tasks_of_class(const Plan& plan, std::uint32_t index);

}  // namespace ferry
#pragma GCC visibility pop
