#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

template <class F>
void binary_numbers(KernelRun& run) {
  dispatch_all_numbers(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, F());
  });
}

template <class F>
void binary_floats(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, F());
  });
}

template <class F>
void binary_bits(KernelRun& run) {
  dispatch_indices(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, F());
  });
}

void shift_right(KernelRun& run) {
  dispatch_among<std::int32_t, std::int64_t, std::uint64_t>(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, functors::ShiftRight());
  });
}

template <class F>
void binary_bools(KernelRun& run) {
  map_elements<bool, bool, bool>(run, F());
}

template <class F>
void binary_ordered(KernelRun& run) {
  dispatch_all_ordered(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, F());
  });
}

template <class F>
void equal_elements(KernelRun& run) {
  dispatch_among<bool, float, double, Float16, BFloat16, std::int32_t, std::int64_t>(
      run.inputs[0].dtype, [&](auto zero) { map_elements<bool, decltype(zero), decltype(zero)>(run, F()); });
}

template <class F>
void compare(KernelRun& run) {
  dispatch_all_ordered(run.inputs[0].dtype,
                       [&](auto zero) { map_elements<bool, decltype(zero), decltype(zero)>(run, F()); });
}

/// Computes F, and reports an integer divisor of zero as a bad value.
template <class F>
struct Checked {
  template <class T>
  FERRY_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) {
        report(Bad::zero_divisor, 1);
        return T(0);
      }
    }
    return F()(a, b);
  }
  BadReport report;
};

template <class F>
void divide(KernelRun& run) {
  const Checked<F> checked{report_of(run)};
  dispatch_all_ordered(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, T, T>(run, checked);
  });
}

void select(KernelRun& run) {
  dispatch_sizes(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<T, bool, T, T>(run, functors::Select());
  });
}

constexpr std::uint32_t kEither = 0b11;
constexpr DTypeSet kNumbersHere = kComputed | kHalves, kOrderedHere = kOrdered | kHalves;
constexpr DTypeSet kComparedHere = kOrderedHere | DTypeSet{DType::boolean};  // the result is bool

constexpr Kernel kKernels[] = {
    {.op = "Add",
     .run = binary_numbers<functors::Add>,
     .in_place = kEither,
     .takes = kNumbersHere,
     .scalar = {"functors::Add"}},
    {.op = "Sub",
     .run = binary_numbers<functors::Sub>,
     .in_place = kEither,
     .takes = kNumbersHere,
     .scalar = {"functors::Sub"}},
    {.op = "Mul",
     .run = binary_numbers<functors::Mul>,
     .in_place = kEither,
     .takes = kNumbersHere,
     .scalar = {"functors::Mul"}},
    {.op = "Div",
     .run = divide<functors::Div>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Div", kFloats}},
    {.op = "Mod",
     .run = divide<functors::Mod>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Mod", kFloats}},
    {.op = "Fmod",
     .run = divide<functors::Fmod>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Fmod", kFloats}},
    {.op = "Pow",
     .run = binary_ordered<functors::Pow>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Pow"}},
    {.op = "BitAnd", .run = binary_bits<functors::BitAnd>, .in_place = kEither, .scalar = {"functors::BitAnd"}},
    {.op = "BitOr", .run = binary_bits<functors::BitOr>, .in_place = kEither, .scalar = {"functors::BitOr"}},
    {.op = "BitXor", .run = binary_bits<functors::BitXor>, .in_place = kEither, .scalar = {"functors::BitXor"}},
    {.op = "ShiftLeft",
     .run = binary_bits<functors::ShiftLeft>,
     .in_place = kEither,
     .scalar = {"functors::ShiftLeft"}},
    {.op = "ShiftRight",
     .run = shift_right,
     .in_place = kEither,
     .takes = kOrdered,
     .scalar = {"functors::ShiftRight"}},
    {.op = "LeakyRelu",
     .run = binary_ordered<functors::LeakyRelu>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::LeakyRelu"}},
    {.op = "Elu",
     .run = binary_floats<functors::Elu>,
     .in_place = kEither,
     .takes = kNumbersHere,
     .scalar = {"functors::Elu"}},
    {.op = "Maximum",
     .run = binary_ordered<functors::Maximum>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Maximum"}},
    {.op = "Minimum",
     .run = binary_ordered<functors::Minimum>,
     .in_place = kEither,
     .takes = kOrderedHere,
     .scalar = {"functors::Minimum"}},
    {.op = "ReluGrad",
     .run = binary_numbers<functors::ReluGrad>,
     .in_place = kEither,
     .takes = kNumbersHere,
     .scalar = {"functors::ReluGrad"}},
    {.op = "Equal", .run = equal_elements<functors::Equal>, .takes = kNumbersHere, .scalar = {"functors::Equal"}},
    {.op = "NotEqual",
     .run = equal_elements<functors::NotEqual>,
     .takes = kNumbersHere,
     .scalar = {"functors::NotEqual"}},
    {.op = "Less", .run = compare<functors::Less>, .takes = kComparedHere, .scalar = {"functors::Less"}},
    {.op = "LessEqual", .run = compare<functors::LessEqual>, .takes = kComparedHere, .scalar = {"functors::LessEqual"}},
    {.op = "Greater", .run = compare<functors::Greater>, .takes = kComparedHere, .scalar = {"functors::Greater"}},
    {.op = "GreaterEqual",
     .run = compare<functors::GreaterEqual>,
     .takes = kComparedHere,
     .scalar = {"functors::GreaterEqual"}},
    {.op = "And", .run = binary_bools<functors::And>, .in_place = kEither, .scalar = {"functors::And"}},
    {.op = "Or", .run = binary_bools<functors::Or>, .in_place = kEither, .scalar = {"functors::Or"}},
    {.op = "Select", .run = select, .in_place = 0b110, .takes = kAnyType, .scalar = {"functors::Select"}},
};

}  // namespace

std::span<const Kernel> binary_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
