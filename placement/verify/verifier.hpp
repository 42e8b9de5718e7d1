// The parts of the verifier. Each throws Rejected with the reason; none trusts what another pass of planning said.
#pragma once

#include <string>
#include <string_view>

#include "placement/plan.hpp"

namespace ferry::verifier {

/// Why a plan is refused.
struct Rejected {
  std::string reason;
};

/// "collective 3 (loss), used at model.cpp:12": an instruction, channel or collective for a message.
[[nodiscard]] std::string describe(const Plan& plan, const Instruction& instruction);
[[nodiscard]] std::string described(const Plan& plan, std::string_view what, std::uint32_t number, std::uint32_t name,
                                    std::uint32_t line);

/// Every index is in range, regions form a tree, sizes are what dtypes and dims say.
void check_structure(const Plan& plan);
/// Every channel has one send and one receive of equal size, in the same place of the program; members of a collective
/// all take part in it, with the buffers that its schedule wants.
void check_messages(const Plan& plan);
/// No task waits for ever, with nothing buffered: the job is walked through, class by class, for setup and two steps.
void check_progress(const Plan& plan);
/// No buffer is read before it is written, after something else took its bytes, or while a message is being written
/// into it; buffers lie within their arenas.
void check_memory(const Plan& plan);

}  // namespace ferry::verifier
