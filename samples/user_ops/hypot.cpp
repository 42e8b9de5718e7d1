// An op that ferry does not have: Hypot(a, b), the square root of a² + b² without overflow on the way. See
// docs/user_ops.md.
#include <cmath>

#include <ferry/ferry.hpp>
#include <ferry/kernels/cpu/elements.hpp>
#include <ferry/kernels/user_ops.hpp>

namespace {

// What it is: one letter for each dim would do; "..." takes any shapes, broadcast as numpy does. So ferry knows how to
// check it, what it gives, and that it can be split over tasks along any dim.
constexpr ferry::OpDef kHypot{.name = "Hypot",
                              .types = "T,T->T",
                              .T = ferry::kFloats,
                              .index = "...,...->...",
                              .flops = 4,
                              .grad = [](ferry::GradCtx& g) {
                                const ferry::Value share = g.dout() / g.out();
                                const ferry::Value da = share * g.in(0);
                                const ferry::Value db = share * g.in(1);
                                return ferry::Values{da, db};
                              }};

// How it is computed on a CPU: a function of one element of each input.
void hypot(ferry::KernelRun& run) {
  const auto of = [&](auto zero) {
    using T = decltype(zero);
    ferry::cpu::map_elements<T, T, T>(run, [](T a, T b) { return std::hypot(a, b); });
  };
  run.inputs[0].dtype == ferry::DType::float64 ? of(double{}) : of(float{});
}

constexpr ferry::Kernel kKernels[] = {{.op = "Hypot", .run = hypot, .in_place = 0b11, .elementwise = true}};

}  // namespace

void ferry_add_ops(ferry::UserOps& to) {
  to.ops.add(kHypot);
  to.kernels.add(kKernels);
}
