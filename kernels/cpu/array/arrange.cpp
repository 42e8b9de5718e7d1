#include <algorithm>

#include "kernels/cpu/array/mover.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/arrange.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/move_arrays.hpp"

namespace ferry::cpu {
namespace {

// ---- Triangle ----

/// Works row by row.
void triangle(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  output.sizes[0] = input.sizes[0];
  const Triangles all(run);
  dispatch_sizes(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = all.columns;
    const T* in = input.as<const T>();
    T* out = output.as<T>();
    for_chunks(run.parallel, columns == 0 ? 0 : input.count() / columns, grain_of(columns), [&](auto begin, auto end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t diagonal = r % all.rows + all.shift;  // the column of the diagonal in this part
        const std::int64_t from = all.upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : 0;
        const std::int64_t to = all.upper ? columns : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
        std::fill_n(out + r * columns, from, T(0));
        if (out != in) std::copy(in + r * columns + from, in + r * columns + to, out + r * columns + from);
        std::fill_n(out + r * columns + to, columns - to, T(0));
      }
    });
  });
}

// ---- ReverseSequence ----

/// Throws BadValue if a length is out of range.
template <class Index>
void check_lengths(const Array& lengths, std::int64_t steps) {
  for (std::int64_t b = 0; b < lengths.count(); ++b) {
    const auto length = static_cast<std::int64_t>(lengths.as<const Index>()[b]);
    if (length < 0 || length > steps) throw bad_length(1, first_number(lengths) + b, length, steps);
  }
}

void reverse_sequence(KernelRun& run) {
  const Array &x = run.inputs[0], &lengths = run.inputs[1];
  Array& output = run.outputs[0];
  output.sizes[0] = x.sizes[0];
  const Sequences all(run);
  dispatch_indices(lengths.dtype, [&](auto index_zero) {
    using Index = decltype(index_zero);
    check_lengths<Index>(lengths, all.steps);
    dispatch_sizes(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_chunks(run.parallel, all.steps * all.batch, grain_of(all.width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
          const std::int64_t b = at / all.steps, t = at % all.steps;
          const auto length = static_cast<std::int64_t>(lengths.as<const Index>()[b]);
          const std::int64_t from = t < length ? length - 1 - t : t;
          std::copy_n(x.as<const T>() + b * all.batch_step + from * all.time_step, all.width,
                      output.as<T>() + b * all.batch_step + t * all.time_step);
        }
      });
    });
  });
}

constexpr Kernel kKernels[] = {
    {.op = "Flip", .run = moving::flip<CpuMover>, .prepare = moving::prepare_flip, .takes = kAnyType},
    {.op = "Triangle", .run = triangle, .prepare = prepare_triangle, .in_place = 1, .takes = kAnyType},
    {.op = "ReverseSequence", .run = reverse_sequence, .prepare = prepare_reverse, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> arrange_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
