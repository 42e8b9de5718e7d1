// Finders of places in a plan where a mutation can be done, and the small changes that several of them make.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// An instruction: its class and its index in the class's list.
struct At {
  std::size_t plan_class = 0, index = 0;
  [[nodiscard]] PlanClass& of(Plan& plan) const { return plan.classes[plan_class]; }
  [[nodiscard]] Instruction& in(Plan& plan) const { return plan.classes[plan_class].instructions[index]; }
};

using Wanted = std::function<bool(const PlanClass&, const Instruction&)>;

[[nodiscard]] std::vector<At> all_of(const Plan& plan, const Wanted& wanted);
[[nodiscard]] std::vector<At> all_of(const Plan& plan, Opcode what);

/// A random one of them; null when there is none.
template <class T>
[[nodiscard]] const T* one_of(const std::vector<T>& all, Dice& dice) {
  return all.empty() ? nullptr : &dice.of(all);
}

/// The buffer that is the k-th of an instruction's inputs or outputs.
[[nodiscard]] std::uint32_t operand(const PlanClass& c, Range range, std::uint32_t k);

/// The region that has this instruction of the class's list.
[[nodiscard]] std::size_t region_of(const PlanClass& c, std::size_t index);

/// The buffer that a buffer is a view of; itself when it is none.
[[nodiscard]] std::uint32_t storage(const PlanClass& c, std::uint32_t b);

/// The numbers of the wanted collectives that have more than one member.
[[nodiscard]] std::vector<std::size_t> collectives(const Plan& plan,
                                                   const std::function<bool(const Collective&)>& wanted);

/// The classes of a collective's members.
[[nodiscard]] std::set<std::uint32_t> classes_in(const Plan& plan, const Collective& collective);

/// Removes an instruction from its region.
void drop(Plan& plan, At at);

/// Removes a random instruction of this kind; false when there is none.
bool drop_one(Plan& plan, Dice& dice, Opcode what);

/// Moves instruction `from` to the index `to` within its region.
void move(PlanClass& c, std::size_t from, std::size_t to);

/// Another dtype of the same size.
[[nodiscard]] DType other_dtype(DType dtype);

}  // namespace ferry::test
