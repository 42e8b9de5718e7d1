// An op that ferry does not have: Hypot(a, b), the square root of a² + b² without overflow in between. See
// docs/guide/user_ops.md.
#include <cmath>

#include <ferry/ferry.hpp>
#include <ferry/kernels/user_ops.hpp>

namespace {

// The definition of the op. In `index` a letter is a dim: two vectors of one length give a third. From this ferry
// checks the inputs, infers the output's shape, and knows that the op can be split over tasks.
constexpr ferry::OpDef kHypot{.name = "Hypot",
                              .types = "T,T->T",
                              .T = ferry::kFloats,
                              .index = "n,n->n",
                              .flops = 4,
                              .grad = [](ferry::GradCtx& g) {
                                const ferry::Value share = g.dout() / g.out();
                                const ferry::Value da = share * g.in(0);
                                const ferry::Value db = share * g.in(1);
                                return ferry::Values{da, db};
                              }};

// The kernel on a CPU: all threads of the task compute, a few thousand elements at a time.
template <class T>
void hypot_of(ferry::KernelRun& run) {
  const T *a = run.inputs[0].as<T>(), *b = run.inputs[1].as<T>();
  T* c = run.outputs[0].as<T>();
  run.parallel.for_each(run.outputs[0].count(), 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) c[i] = std::hypot(a[i], b[i]);
  });
}

void hypot(ferry::KernelRun& run) {
  run.outputs[0].dtype == ferry::DType::float64 ? hypot_of<double>(run) : hypot_of<float>(run);
}

constexpr ferry::Kernel kKernels[] = {{.op = "Hypot", .run = hypot, .in_place = 0b11}};

}  // namespace

void ferry_add_ops(ferry::UserOps& to) {
  to.ops.add(kHypot);
  to.kernels.add(kKernels);
}
