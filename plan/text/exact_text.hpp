// Exact texts: parts of a plan with every fact that passes read. tests/plans reads them.
//
// They look as plan_text.hpp shows, and say more of buffers and instructions:
//
//     %1 c float32[100,1000] tile+0
//     2 Add c (%0, %1) -> %2 attrs 3 over 1  (movable)  at add.cpp:12
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace ferry {

/// The plan's feeds, fetches, channels and collectives; a line that says so if there are none.
[[nodiscard]] std::string exact_tables_of(const Plan& plan);

/// The class `index`, if `role` were that class; and one of its instructions.
[[nodiscard]] std::string exact_text_of(const Plan& plan, const PlanClass& role, std::uint32_t index);
[[nodiscard]] std::string exact_text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction);

/// A name: in quotes unless it is one word. Names with '"', '\\' or control characters cannot be read back.
[[nodiscard]] std::string exact_name(std::string_view name);

/// The seven numbers of what a dim reads of another: "(0,1,8,1,0,1,0)".
[[nodiscard]] std::string exact_text_of(const Reads& reads);

}  // namespace ferry
