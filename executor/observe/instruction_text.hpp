// Texts about an instruction of a plan.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace ferry {

/// " at model.cpp:3": the user's line; "" if there is none.
[[nodiscard]] std::string at_line(const Plan& plan, const Instruction& instruction);

/// "receive_wait of "a" from task 0 at model.cpp:3": what an instruction waits for, with its peers if it communicates.
[[nodiscard]] std::string pending_text(const Plan& plan, const Instruction& instruction, int task);

/// "MatMul "h" at model.cpp:3": an instruction. For an instruction that communicates, the text of pending_text().
[[nodiscard]] std::string instruction_text(const Plan& plan, const Instruction& instruction, int task);

}  // namespace ferry
