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
    {.op = "Neg", .run = unary_numbers<functors::Neg>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Abs", .run = unary_ordered<functors::Abs>, .in_place = 1, .takes = kOrderedHere},
    {.op = "Sign", .run = unary_ordered<functors::Sign>, .in_place = 1, .takes = kOrderedHere},
    {.op = "Square", .run = unary_numbers<functors::Square>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Relu", .run = unary_numbers<functors::Relu>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Exp", .run = unary_floats<functors::Exp>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Log", .run = unary_floats<functors::Log>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Sqrt", .run = unary_floats<functors::Sqrt>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Rsqrt", .run = unary_floats<functors::Rsqrt>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Tanh", .run = unary_floats<functors::Tanh>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Sigmoid", .run = unary_floats<functors::Sigmoid>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Erf", .run = unary_floats<functors::Erf>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Floor", .run = unary_floats<functors::Floor>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Ceil", .run = unary_floats<functors::Ceil>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Round", .run = unary_floats<functors::Round>, .in_place = 1, .takes = kNumbersHere},
    {.op = "Not", .run = not_elements, .in_place = 1},
};

}  // namespace

std::span<const Kernel> unary_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
