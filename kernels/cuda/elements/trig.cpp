#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar_trig.hpp"

namespace ferry::cuda {
namespace {

// The function is a template argument by way of a type: a pointer to a function of the host is of no use to a GPU.
#define FERRY_IN_DOUBLE(Name, function)                        \
  struct Name {                                                \
    template <class T>                                         \
    FERRY_DEVICE T operator()(T x) const {                     \
      return static_cast<T>(function(static_cast<double>(x))); \
    }                                                          \
  }
FERRY_IN_DOUBLE(Sin, math::sin);
FERRY_IN_DOUBLE(Cos, math::cos);
FERRY_IN_DOUBLE(Tan, math::tan);
FERRY_IN_DOUBLE(Asin, math::asin);
FERRY_IN_DOUBLE(Acos, math::acos);
FERRY_IN_DOUBLE(Atan, math::atan);
FERRY_IN_DOUBLE(Sinh, math::sinh);
FERRY_IN_DOUBLE(Cosh, math::cosh);
FERRY_IN_DOUBLE(Asinh, math::asinh);
FERRY_IN_DOUBLE(Acosh, math::acosh);
FERRY_IN_DOUBLE(Atanh, math::atanh);
#undef FERRY_IN_DOUBLE

template <class F>
void unary(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) { map_elements<decltype(zero), decltype(zero)>(run, F()); });
}

constexpr DTypeSet kTaken = kComputed | kHalves;

constexpr Kernel kKernels[] = {{.op = "Sin", .run = unary<Sin>, .in_place = 1, .takes = kTaken},
                               {.op = "Cos", .run = unary<Cos>, .in_place = 1, .takes = kTaken},
                               {.op = "Tan", .run = unary<Tan>, .in_place = 1, .takes = kTaken},
                               {.op = "Asin", .run = unary<Asin>, .in_place = 1, .takes = kTaken},
                               {.op = "Acos", .run = unary<Acos>, .in_place = 1, .takes = kTaken},
                               {.op = "Atan", .run = unary<Atan>, .in_place = 1, .takes = kTaken},
                               {.op = "Sinh", .run = unary<Sinh>, .in_place = 1, .takes = kTaken},
                               {.op = "Cosh", .run = unary<Cosh>, .in_place = 1, .takes = kTaken},
                               {.op = "Asinh", .run = unary<Asinh>, .in_place = 1, .takes = kTaken},
                               {.op = "Acosh", .run = unary<Acosh>, .in_place = 1, .takes = kTaken},
                               {.op = "Atanh", .run = unary<Atanh>, .in_place = 1, .takes = kTaken}};

}  // namespace

std::span<const Kernel> trig_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
