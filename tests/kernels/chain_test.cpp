// Chains of elementwise ops (ComputeChain) must have the bits of the ops one after another, on every instruction set.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernel.hpp"
#include "tests/support/dice.hpp"

namespace ferry {
namespace {

using Op = ChainStep::Op;

template <class T>
T computed(Op op, T value, T operand) {
  switch (op) {
    case Op::load:
      return operand;
    case Op::add:
      return value + operand;
    case Op::sub:
      return value - operand;
    case Op::sub_from:
      return operand - value;
    case Op::mul:
      return value * operand;
  }
  return {};
}

/// Operands with numbers that have special rules: zeros of both signs, infinities, the smallest numbers.
template <class T>
std::vector<std::vector<T>> some_operands(test::Dice& dice, std::size_t count, std::size_t elements) {
  static constexpr T kSpecial[] = {T(0), T(-0.0), std::numeric_limits<T>::infinity(),
                                   std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
  std::vector<std::vector<T>> operands(count, std::vector<T>(elements));
  for (std::vector<T>& operand : operands)
    for (T& element : operand)
      element = dice.one_in(8) ? kSpecial[dice.below(5)] : static_cast<T>(dice.below(2001) - 1000) / T(7);
  return operands;
}

std::vector<ChainStep> some_steps(test::Dice& dice, std::size_t operands) {
  std::vector<ChainStep> steps;
  for (int k = 0; k < 2 + dice.below(8); ++k)
    steps.push_back({k == 0 ? Op::load : static_cast<Op>(1 + dice.below(4)), !dice.one_in(4),
                     static_cast<std::uint32_t>(dice.below(static_cast<int>(operands)))});
  return steps;
}

template <class T>
std::vector<T> one_after_another(const std::vector<ChainStep>& steps, const std::vector<std::vector<T>>& operands) {
  std::vector<T> values(operands[0].size());
  for (const ChainStep& step : steps)
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = computed(step.op, values[i], operands[step.operand][step.moves ? i : 0]);
  return values;
}

/// NaNs may differ in their sign, as NaNs of the ops may.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return a.size() == b.size();
}

template <class T>
void check_chains(DType dtype, const KernelTable& kernels) {
  test::Dice dice(7);
  for (std::size_t elements = 1; elements < 300; ++elements) {
    const auto operands = some_operands<T>(dice, 5, elements);
    const std::vector<ChainStep> steps = some_steps(dice, operands.size());
    std::vector<const std::byte*> at;
    for (const std::vector<T>& operand : operands) at.push_back(reinterpret_cast<const std::byte*>(operand.data()));
    const std::vector<T> wanted = one_after_another(steps, operands);
    std::vector<T> got(elements + 1, T(3));
    kernels.chain()(dtype, steps, at.data(), reinterpret_cast<std::byte*>(got.data()),
                    static_cast<std::int64_t>(elements));
    CHECK(got.back() == T(3));
    got.pop_back();
    CHECK_MESSAGE(same(got, wanted), kernels.level(), ": ", elements, " elements");
    // The output is an operand that moves in all steps.
    std::vector<T> in_place = operands[0];
    at[0] = reinterpret_cast<const std::byte*>(in_place.data());
    std::vector<ChainStep> moving = steps;
    for (ChainStep& step : moving) step.moves = step.moves || step.operand == 0;
    kernels.chain()(dtype, moving, at.data(), reinterpret_cast<std::byte*>(in_place.data()),
                    static_cast<std::int64_t>(elements));
    CHECK_MESSAGE(same(in_place, one_after_another(moving, operands)), kernels.level(), ": ", elements, " in place");
  }
}

TEST_CASE("chains have the bits of the ops one after another") {
  for (const KernelTable& kernels : cpu_kernel_levels()) {
    check_chains<float>(DType::float32, kernels);
    check_chains<double>(DType::float64, kernels);
  }
}

}  // namespace
}  // namespace ferry
