#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

template <class F>
void unary(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) { map_elements<decltype(zero), decltype(zero)>(run, F()); });
}

constexpr DTypeSet kTaken = kComputed | kHalves;

constexpr Kernel kKernels[] = {
    {.op = "Sin", .run = unary<Sin>, .in_place = 1, .takes = kTaken, .scalar = {"Sin"}},
    {.op = "Cos", .run = unary<Cos>, .in_place = 1, .takes = kTaken, .scalar = {"Cos"}},
    {.op = "Tan", .run = unary<Tan>, .in_place = 1, .takes = kTaken, .scalar = {"Tan"}},
    {.op = "Asin", .run = unary<Asin>, .in_place = 1, .takes = kTaken, .scalar = {"Asin"}},
    {.op = "Acos", .run = unary<Acos>, .in_place = 1, .takes = kTaken, .scalar = {"Acos"}},
    {.op = "Atan", .run = unary<Atan>, .in_place = 1, .takes = kTaken, .scalar = {"Atan"}},
    {.op = "Sinh", .run = unary<Sinh>, .in_place = 1, .takes = kTaken, .scalar = {"Sinh"}},
    {.op = "Cosh", .run = unary<Cosh>, .in_place = 1, .takes = kTaken, .scalar = {"Cosh"}},
    {.op = "Asinh", .run = unary<Asinh>, .in_place = 1, .takes = kTaken, .scalar = {"Asinh"}},
    {.op = "Acosh", .run = unary<Acosh>, .in_place = 1, .takes = kTaken, .scalar = {"Acosh"}},
    {.op = "Atanh", .run = unary<Atanh>, .in_place = 1, .takes = kTaken, .scalar = {"Atanh"}}};

}  // namespace

std::span<const Kernel> trig_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
