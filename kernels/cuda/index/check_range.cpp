#include "kernels/shared/check_range.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

constexpr Bad bad_of(RangeCheck::Kind kind) {
  switch (kind) {
    case RangeCheck::Kind::label:
      return Bad::label;
    case RangeCheck::Kind::length:
      return Bad::length;
    case RangeCheck::Kind::image:
      return Bad::image;
    case RangeCheck::Kind::position:
      break;
  }
  return Bad::position;
}

template <class T>
struct CheckRange {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const T number = from[i];
    if (!check.is_valid(number)) report(bad, 0, number, check.size, first + i);
    to[i] = number;
  }
  RangeCheck check;
  Bad bad;
  const T* from;
  T* to;
  std::int64_t first;
  BadReport report;
};

void check_range(KernelRun& run) {
  const Array &numbers = run.inputs[0], &output = run.outputs[0];
  const auto& check = kept<RangeCheck>(run);
  dispatch_indices(numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, numbers.count(),
             CheckRange<T>{check, bad_of(check.kind), numbers.as<const T>(), output.as<T>(), first_number(numbers),
                           report_of(run)});
  });
}

constexpr Kernel kCheckRangeKernels[] = {
    {.op = "CheckRange", .run = check_range, .prepare = prepare_range_check, .in_place = 1}};

}  // namespace

std::span<const Kernel> check_range_kernels() {
  return kCheckRangeKernels;
}

}  // namespace ferry::cuda
