#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

template <class F>
void binary_numbers(KernelRun& run) {
  dispatch_numbers(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, T, T, T>(run);
  });
}

template <class F>
void binary_floats(KernelRun& run) {
  dispatch_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, T, T, T>(run);
  });
}

template <class F>
void binary_bits(KernelRun& run) {
  dispatch_indices(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, T, T, T>(run);
  });
}

void shift_right(KernelRun& run) {
  dispatch_among<std::int32_t, std::int64_t, std::uint64_t>(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<functors::ShiftRight, T, T, T>(run);
  });
}

template <class F>
void binary_bools(KernelRun& run) {
  map_elements<F, bool, bool, bool>(run);
}

template <class F>
void binary_ordered(KernelRun& run) {
  dispatch_ordered(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, T, T, T>(run);
  });
}

template <class F>
void equal_elements(KernelRun& run) {
  dispatch_among<bool, float, double, std::int32_t, std::int64_t>(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, bool, T, T>(run);
  });
}

template <class F>
void compare(KernelRun& run) {
  dispatch_ordered(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<F, bool, T, T>(run);
  });
}

/// Checks all integer divisors of the array or piece for zeros first, so that the loop needs no check.
template <class F>
void divide(KernelRun& run) {
  const Array& divisor = run.inputs[1];
  if (is_integer(divisor.dtype)) {
    run.loop = nullptr;
    const bool in_part = run.piece.last >= 0 && divisor.count() == run.outputs[0].count();
    const Piece looked_at = in_part ? run.piece : Piece{0, divisor.count()};
    dispatch_among<std::int32_t, std::int64_t, std::uint64_t>(divisor.dtype, [&](auto zero) {
      const auto* elements = divisor.as<const decltype(zero)>();
      looked_at.each_row([&](std::int64_t begin, std::int64_t end) {
        if (std::find(elements + begin, elements + end, zero) == elements + end) return;
        throw bad_divisor(1);
      });
    });
  }
  binary_ordered<F>(run);
}

void select(KernelRun& run) {
  dispatch_sizes(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    map_elements<functors::Select, T, bool, T, T>(run);
  });
}

constexpr std::uint32_t kEither = 0b11;
constexpr DTypeSet kCompared = kOrdered | DTypeSet{DType::boolean};  // the result is bool

constexpr Kernel kKernels[] = {
    {.op = "Add", .run = binary_numbers<functors::Add>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "Sub", .run = binary_numbers<functors::Sub>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "Mul", .run = binary_numbers<functors::Mul>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "LeakyRelu",
     .run = binary_ordered<functors::LeakyRelu>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Elu", .run = binary_floats<functors::Elu>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "Div",
     .run = divide<functors::Div>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Mod",
     .run = divide<functors::Mod>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Fmod",
     .run = divide<functors::Fmod>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Pow",
     .run = binary_ordered<functors::Pow>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "BitAnd", .run = binary_bits<functors::BitAnd>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "BitOr", .run = binary_bits<functors::BitOr>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "BitXor", .run = binary_bits<functors::BitXor>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "ShiftLeft",
     .run = binary_bits<functors::ShiftLeft>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true},
    {.op = "ShiftRight",
     .run = shift_right,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Maximum",
     .run = binary_ordered<functors::Maximum>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "Minimum",
     .run = binary_ordered<functors::Minimum>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true,
     .takes = kOrdered},
    {.op = "ReluGrad",
     .run = binary_numbers<functors::ReluGrad>,
     .in_place = kEither,
     .streams = true,
     .elementwise = true},
    {.op = "Equal", .run = equal_elements<functors::Equal>, .streams = true, .elementwise = true},
    {.op = "NotEqual", .run = equal_elements<functors::NotEqual>, .streams = true, .elementwise = true},
    {.op = "Less", .run = compare<functors::Less>, .streams = true, .elementwise = true, .takes = kCompared},
    {.op = "LessEqual", .run = compare<functors::LessEqual>, .streams = true, .elementwise = true, .takes = kCompared},
    {.op = "Greater", .run = compare<functors::Greater>, .streams = true, .elementwise = true, .takes = kCompared},
    {.op = "GreaterEqual",
     .run = compare<functors::GreaterEqual>,
     .streams = true,
     .elementwise = true,
     .takes = kCompared},
    {.op = "And", .run = binary_bools<functors::And>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "Or", .run = binary_bools<functors::Or>, .in_place = kEither, .streams = true, .elementwise = true},
    {.op = "Select", .run = select, .in_place = 0b110, .streams = true, .elementwise = true, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> binary_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
