#include <algorithm>

#include "kernels/cpu/array/strided.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/state.hpp"

namespace ferry::cpu {
namespace {

// ---- Flip ----

void flip(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  if (output.rank() > 0) output.sizes[0] = input.sizes[0];
  Steps from = steps_of(input.sizes);
  const Steps to = steps_of(output.sizes);
  StridedCopy copy;
  for (std::int64_t axis : kept<Ints>(run)) {
    const auto d = static_cast<std::size_t>(dim_of(axis, input.rank()));
    if (from[d] < 0) continue;  // the axis is named twice
    copy.from_begin += (input.sizes[d] - 1) * from[d];
    from.of[d] = -from[d];
  }
  for (std::size_t d = 0; d < output.sizes.size(); ++d) copy.add_dim(output.sizes[d], from[d], to[d]);
  copy.run(run.parallel, input.dtype, input.data, output.data);
}

std::unique_ptr<KernelState> prepare_flip(const KernelSetup& setup) {
  return keep(setup.attrs.get<Ints>("axes"));
}

// ---- Triangle ----

struct Diagonal {
  std::int64_t k;
  bool upper;
};

std::unique_ptr<KernelState> prepare_triangle(const KernelSetup& setup) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;  // beyond any size, but sums with sizes do not overflow
  return keep(Diagonal{std::clamp(setup.attrs.get<std::int64_t>("k"), -kFar, kFar), setup.attrs.get<bool>("upper")});
}

/// Works row by row. In a part of a split matrix the diagonal is that of the whole matrix.
void triangle(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto [k, upper] = kept<Diagonal>(run);
  output.sizes[0] = input.sizes[0];
  const auto rank = static_cast<std::size_t>(input.rank());
  const std::int64_t rows = input.sizes[rank - 2], columns = input.sizes[rank - 1];
  const std::int64_t shift = output.begin[rank - 2] - output.begin[rank - 1] + k;
  dispatch_sizes(input.dtype, [&, upper = upper](auto zero) {
    using T = decltype(zero);
    const T* in = input.as<const T>();
    T* out = output.as<T>();
    for_chunks(run.parallel, columns == 0 ? 0 : input.count() / columns, grain_of(columns), [&](auto begin, auto end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t diagonal = r % rows + shift;  // its column in this part
        const std::int64_t from = upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : 0;
        const std::int64_t to = upper ? columns : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
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
    if (length < 0 || length > steps)
      throw BadValue(1, "the length " + std::to_string(length) + " of sequence " + std::to_string(b) +
                            " is out of range for " + std::to_string(steps) + " steps");
  }
}

void reverse_sequence(KernelRun& run) {
  const Array &x = run.inputs[0], &lengths = run.inputs[1];
  Array& output = run.outputs[0];
  output.sizes[0] = x.sizes[0];
  const bool time_first = kept<std::int64_t>(run) == 0;
  const std::int64_t steps = x.sizes[time_first ? 0 : 1], batch = x.sizes[time_first ? 1 : 0];
  const std::int64_t width = product(x.sizes, 2, x.rank());
  const std::int64_t time_step = time_first ? batch * width : width;
  const std::int64_t batch_step = time_first ? width : steps * width;
  dispatch_indices(lengths.dtype, [&](auto index_zero) {
    using Index = decltype(index_zero);
    check_lengths<Index>(lengths, steps);
    dispatch_sizes(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_chunks(run.parallel, steps * batch, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
          const std::int64_t b = at / steps, t = at % steps;
          const auto length = static_cast<std::int64_t>(lengths.as<const Index>()[b]);
          const std::int64_t from = t < length ? length - 1 - t : t;
          std::copy_n(x.as<const T>() + b * batch_step + from * time_step, width,
                      output.as<T>() + b * batch_step + t * time_step);
        }
      });
    });
  });
}

std::unique_ptr<KernelState> prepare_reverse(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("time_axis"));
}

constexpr Kernel kKernels[] = {
    {.op = "Flip", .run = flip, .prepare = prepare_flip, .takes = kAnyType},
    {.op = "Triangle", .run = triangle, .prepare = prepare_triangle, .in_place = 1, .takes = kAnyType},
    {.op = "ReverseSequence", .run = reverse_sequence, .prepare = prepare_reverse, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> arrange_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
