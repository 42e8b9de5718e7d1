// Small changes of instructions that several families of changes make, alike on all classes.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/mutations/places.hpp"
#include "tests/support/plans.hpp"

namespace ferry::test {

/// A number below `count`.
[[nodiscard]] std::uint32_t drawn(Dice& dice, std::size_t count);

/// A random one of the wanted instructions, and the instructions like it in other classes.
[[nodiscard]] std::vector<At> some_of(const Plan& plan, Dice& dice, const Wanted& wanted);

[[nodiscard]] bool same_type(const Buffer& a, const Buffer& b);

/// Gives an instruction operands of its own.
void set_operands(PlanClass& c, Range& range, const std::vector<std::uint32_t>& buffers);

[[nodiscard]] std::vector<std::uint32_t> listed(const PlanClass& c, Range range);

/// Removes an instruction from its region.
void leave_out(Plan& plan, At at);

/// Puts an instruction before `index`, in the region of `index`.
void insert(PlanClass& c, std::size_t index, const Instruction& instruction);

/// Lets a wanted instruction read, or with `output` write, another value of the same type, by name alike on all
/// classes.
bool read_another(Plan& plan, Dice& dice, const Wanted& wanted, bool output = false);

/// The same for an instruction of that kind.
template <Opcode kWhat>
bool another_of(Plan& plan, Dice& dice) {
  return read_another(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == kWhat; });
}

}  // namespace ferry::test
