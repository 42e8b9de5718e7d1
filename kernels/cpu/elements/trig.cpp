#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/scalar_trig.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

template <double (*f)(double)>
struct InDouble {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(f(static_cast<double>(x)));
  }
};

template <double (*f)(double)>
void unary(KernelRun& run) {
  dispatch_floats(run.inputs[0].dtype,
                  [&](auto zero) { map_elements<InDouble<f>, decltype(zero), decltype(zero)>(run); });
}

constexpr Kernel kKernels[] = {
    {.op = "Sin", .run = unary<math::sin>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Cos", .run = unary<math::cos>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Tan", .run = unary<math::tan>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Asin", .run = unary<math::asin>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Acos", .run = unary<math::acos>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Atan", .run = unary<math::atan>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Sinh", .run = unary<math::sinh>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Cosh", .run = unary<math::cosh>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Asinh", .run = unary<math::asinh>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Acosh", .run = unary<math::acosh>, .in_place = 1, .streams = true, .elementwise = true},
    {.op = "Atanh", .run = unary<math::atanh>, .in_place = 1, .streams = true, .elementwise = true},
};

}  // namespace

std::span<const Kernel> trig_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
