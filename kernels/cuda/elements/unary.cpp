#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

template <class F>
void unary_floats(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) { map_elements<decltype(zero), decltype(zero)>(run, F()); });
}

template <class F>
void unary_numbers(KernelRun& run) {
  dispatch_all_numbers(run.inputs[0].dtype, [&](auto zero) { map_elements<decltype(zero), decltype(zero)>(run, F()); });
}

template <class F>
void unary_ordered(KernelRun& run) {
  dispatch_all_ordered(run.inputs[0].dtype, [&](auto zero) { map_elements<decltype(zero), decltype(zero)>(run, F()); });
}

void not_elements(KernelRun& run) {
  map_elements<bool, bool>(run, functors::Not());
}

constexpr DTypeSet kNumbersHere = kComputed | kHalves, kOrderedHere = kOrdered | kHalves;

constexpr Kernel kKernels[] = {
    {.op = "Neg",
     .run = unary_numbers<functors::Neg>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Neg"}},
    {.op = "Abs",
     .run = unary_ordered<functors::Abs>,
     .in_place = 1,
     .takes = kOrderedHere,
     .scalar = {"functors::Abs"}},
    {.op = "Sign",
     .run = unary_ordered<functors::Sign>,
     .in_place = 1,
     .takes = kOrderedHere,
     .scalar = {"functors::Sign"}},
    {.op = "Square",
     .run = unary_numbers<functors::Square>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Square"}},
    {.op = "Relu",
     .run = unary_numbers<functors::Relu>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Relu"}},
    {.op = "Exp",
     .run = unary_floats<functors::Exp>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Exp"}},
    {.op = "Log",
     .run = unary_floats<functors::Log>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Log"}},
    {.op = "Sqrt",
     .run = unary_floats<functors::Sqrt>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Sqrt"}},
    {.op = "Rsqrt",
     .run = unary_floats<functors::Rsqrt>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Rsqrt"}},
    {.op = "Tanh",
     .run = unary_floats<functors::Tanh>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Tanh"}},
    {.op = "Sigmoid",
     .run = unary_floats<functors::Sigmoid>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Sigmoid"}},
    {.op = "Swish",
     .run = unary_floats<functors::Swish>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Swish"}},
    {.op = "Selu",
     .run = unary_floats<functors::Selu>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Selu"}},
    {.op = "HardSwish",
     .run = unary_floats<functors::HardSwish>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::HardSwish"}},
    {.op = "Erf",
     .run = unary_floats<functors::Erf>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Erf"}},
    {.op = "Floor",
     .run = unary_floats<functors::Floor>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Floor"}},
    {.op = "Ceil",
     .run = unary_floats<functors::Ceil>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Ceil"}},
    {.op = "Round",
     .run = unary_floats<functors::Round>,
     .in_place = 1,
     .takes = kNumbersHere,
     .scalar = {"functors::Round"}},
    {.op = "Not", .run = not_elements, .in_place = 1, .scalar = {"functors::Not"}},
};

}  // namespace

std::span<const Kernel> unary_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
