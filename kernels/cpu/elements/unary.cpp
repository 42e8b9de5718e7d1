#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

template <class F>
void unary_floats(KernelRun& run) {
  dispatch_floats(run.inputs[0].dtype, [&](auto zero) { map_elements<F, decltype(zero), decltype(zero)>(run); });
}

template <class F>
void unary_numbers(KernelRun& run) {
  dispatch_numbers(run.inputs[0].dtype, [&](auto zero) { map_elements<F, decltype(zero), decltype(zero)>(run); });
}

template <class F>
void unary_ordered(KernelRun& run) {
  dispatch_ordered(run.inputs[0].dtype, [&](auto zero) { map_elements<F, decltype(zero), decltype(zero)>(run); });
}

void not_elements(KernelRun& run) {
  map_elements<functors::Not, bool, bool>(run);
}

constexpr std::uint32_t kFirst = 1;

constexpr Kernel kKernels[] = {
    {.op = "Neg", .run = unary_numbers<functors::Neg>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Abs",
     .run = unary_ordered<functors::Abs>,
     .in_place = kFirst,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Sign",
     .run = unary_ordered<functors::Sign>,
     .in_place = kFirst,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Square", .run = unary_numbers<functors::Square>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Relu", .run = unary_numbers<functors::Relu>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Exp", .run = unary_floats<functors::Exp>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Log", .run = unary_floats<functors::Log>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Sqrt", .run = unary_floats<functors::Sqrt>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Rsqrt", .run = unary_floats<functors::Rsqrt>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Tanh", .run = unary_floats<functors::Tanh>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Sigmoid", .run = unary_floats<functors::Sigmoid>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Swish", .run = unary_floats<functors::Swish>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Selu", .run = unary_floats<functors::Selu>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "HardSwish",
     .run = unary_floats<functors::HardSwish>,
     .in_place = kFirst,
     .streams = true,
     .elementwise = true},
    {.op = "Erf", .run = unary_floats<functors::Erf>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Floor", .run = unary_floats<functors::Floor>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Ceil", .run = unary_floats<functors::Ceil>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Round", .run = unary_floats<functors::Round>, .in_place = kFirst, .streams = true, .elementwise = true},
    {.op = "Not", .run = not_elements, .in_place = kFirst, .streams = true, .elementwise = true},
};

}  // namespace

std::span<const Kernel> unary_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
