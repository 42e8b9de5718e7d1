#include "kernels/shared/arrange.hpp"
#include "kernels/cuda/array/large_elements.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

/// Calls f with a zero of an unsigned integer type that holds the indices of `count` elements. The type has 32 bits if
/// possible, because a GPU divides 32-bit integers several times as fast as 64-bit integers.
template <class F>
void dispatch_count(std::int64_t count, const F& f) {
  if (count <= INT32_MAX)
    f(std::uint32_t{});
  else
    f(std::uint64_t{});
}

// ---- Triangle ----

/// Handles one group of n elements. Each row is a whole number of groups.
template <class T, int n, class Int>
struct KeepTriangle {
  FERRY_DEVICE void operator()(std::int64_t group) const {
    const Int row = static_cast<Int>(group) / row_groups;
    const auto column = static_cast<std::int64_t>(static_cast<Int>(group) - row * row_groups) * n;
    const std::int64_t diagonal = static_cast<std::int64_t>(row % rows) + shift;  // the diagonal's column in this row
    Group<T, n> elements = in[group];
    for (int k = 0; k < n; ++k)
      if (upper ? column + k < diagonal : column + k > diagonal) elements.all[k] = T(0);
    out[group] = elements;
  }
  const Group<T, n>* in;
  Group<T, n>* out;
  Int rows, row_groups;
  std::int64_t shift;
  bool upper;
};

template <class T, int n>
void keep_triangle(const KernelRun& run, const Triangles& all) {
  using Elements = Group<T, n>;
  const Array &input = run.inputs[0], &output = run.outputs[0];
  dispatch_count(output.count(), [&](auto zero) {
    using Int = decltype(zero);
    for_each(run, output.count() / n,
             KeepTriangle<T, n, Int>{input.as<const Elements>(), output.as<Elements>(), static_cast<Int>(all.rows),
                                     static_cast<Int>(all.columns / n), all.shift, all.upper});
  });
}

void triangle(KernelRun& run) {
  const Array &input = run.inputs[0], &output = run.outputs[0];
  const Triangles all(run);
  dispatch_sizes(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kGroup = static_cast<int>(kGroupBytes / sizeof(T));
    const bool grouped = all.columns % kGroup == 0 && detail::is_aligned(input.data, kGroupBytes) &&
                         detail::is_aligned(output.data, kGroupBytes);
    if (grouped)
      keep_triangle<T, kGroup>(run, all);
    else
      keep_triangle<T, 1>(run, all);
  });
}

// ---- ReverseSequence ----

template <class Index>
struct CheckLengths {
  FERRY_DEVICE void operator()(std::int64_t b) const {
    const auto length = static_cast<std::int64_t>(lengths[b]);
    if (length < 0 || length > steps) report(Bad::length, 1, length, steps, first + b);
  }
  const Index* lengths;
  std::int64_t steps;
  std::int64_t first;  ///< number of the first sequence of this part
  BadReport report;
};

/// Moves one T, which is several elements of x. A step of a sequence is `width` times T.
template <class T, class Index, class Int>
struct ReverseSteps {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const Int step = static_cast<Int>(i) / width;
    const Int outer = step / inner_steps, inner = step - outer * inner_steps;
    const auto t = static_cast<std::int64_t>(time_first ? outer : inner);
    const auto length = static_cast<std::int64_t>(lengths[time_first ? inner : outer]);
    const bool reversed = t < length && length <= steps;
    out[i] = in[reversed ? i + (length - 1 - 2 * t) * time_step : i];
  }
  const T* in;
  T* out;
  const Index* lengths;
  std::int64_t steps, time_step;
  Int width;
  Int inner_steps;  ///< number of sequences if time_first, else steps of a sequence
  bool time_first;
};

template <class Index>
void reverse(KernelRun& run) {
  const Array &x = run.inputs[0], &lengths = run.inputs[1], &output = run.outputs[0];
  const Sequences all(run);
  const auto* const given = lengths.as<const Index>();
  for_each(run, all.batch, CheckLengths<Index>{given, all.steps, first_number(lengths), report_of(run)});
  std::size_t bytes = size_of(x.dtype);
  std::int64_t joined = 1;  // number of elements that one T has
  while (bytes < kGroupBytes && all.width % (2 * joined) == 0 && detail::is_aligned(x.data, 2 * bytes) &&
         detail::is_aligned(output.data, 2 * bytes)) {
    bytes *= 2;
    joined *= 2;
  }
  const std::int64_t count = x.count() / joined;
  dispatch_joined(bytes, [&](auto zero) {
    using T = decltype(zero);
    dispatch_count(count, [&](auto int_zero) {
      using Int = decltype(int_zero);
      for_each(run, count,
               ReverseSteps<T, Index, Int>{x.as<const T>(), output.as<T>(), given, all.steps, all.time_step / joined,
                                           static_cast<Int>(all.width / joined),
                                           static_cast<Int>(all.time_first ? all.batch : all.steps), all.time_first});
    });
  });
}

void reverse_sequence(KernelRun& run) {
  dispatch_indices(run.inputs[1].dtype, [&](auto zero) { reverse<decltype(zero)>(run); });
}

constexpr Kernel kArrangeKernels[] = {
    {.op = "Triangle", .run = triangle, .prepare = prepare_triangle, .in_place = 1, .takes = kAnyType},
    {.op = "ReverseSequence", .run = reverse_sequence, .prepare = prepare_reverse, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> arrange_kernels() {
  return kArrangeKernels;
}

}  // namespace ferry::cuda
