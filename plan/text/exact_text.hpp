// Exact texts: parts of a plan with every fact that passes read. tests/plans parses them.
//
// They look like the texts of plan_text.hpp, with more facts about buffers and instructions:
//
//     %1 c float32[100,1000] tile+0
//     2 Add c (%0, %1) -> %2 attrs 3 over 1  (movable)  at add.cpp:12
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace ferry {

/// The plan's feeds, fetches, channels and collectives. If there are none, a line says so.
[[nodiscard]] std::string exact_tables_of(const Plan& plan);

/// The text of class `index` of the plan with `role` in its place; the text of one of its instructions.
[[nodiscard]] std::string exact_text_of(const Plan& plan, const PlanClass& role, std::uint32_t index);
[[nodiscard]] std::string exact_text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction);

/// A name, in quotes unless it is one word. Names with '"', '\\' or control characters cannot be parsed again.
[[nodiscard]] std::string exact_name(std::string_view name);

/// The seven numbers of Reads: "(0,1,8,1,0,1,0)".
[[nodiscard]] std::string exact_text_of(const Reads& reads);

}  // namespace ferry
