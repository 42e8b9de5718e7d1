#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

struct Running {
  std::int64_t axis;
  bool exclusive, reverse;
};

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(
      Running{attrs.get<std::int64_t>("axis"), attrs.get_or("exclusive", false), attrs.get_or("reverse", false)});
}

/// out[r] = out[r - 1] joined with in[r], or with in[r - 1] if `exclusive`. Rows have `width` elements and are `step`
/// apart.
template <class T, class Join>
void run_rows(const T* in, T* out, std::int64_t rows, std::int64_t step, std::int64_t width, bool exclusive, T start) {
  constexpr Join kJoin{};
  for (std::int64_t k = 0; k < width; ++k) out[k] = exclusive ? start : in[k];
  for (std::int64_t r = 1; r < rows; ++r) {
    const T* before = out + (r - 1) * step;
    const T* next = in + (exclusive ? r - 1 : r) * step;
    T* now = out + r * step;
    for (std::int64_t k = 0; k < width; ++k) now[k] = kJoin(before[k], next[k]);
  }
}

/// Threads divide the elements along all other dims.
template <class Join, int start>
void run_along(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& how = kept<Running>(run);
  output.sizes[0] = input.sizes[0];
  const int dim = dim_of(how.axis, input.rank());
  const std::int64_t along = input.sizes[dim];
  const std::int64_t inner = product(input.sizes, dim + 1, input.rank());
  const std::int64_t outer = product(input.sizes, 0, dim);
  if (along == 0) return;
  dispatch_numbers(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, outer * inner, grain_of(along), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t width = std::min(inner - at % inner, end - at);
        const std::int64_t place = at / inner * along * inner + at % inner + (how.reverse ? (along - 1) * inner : 0);
        run_rows<T, Join>(input.as<const T>() + place, output.as<T>() + place, along, how.reverse ? -inner : inner,
                          width, how.exclusive, T(start));
        at += width;
      }
    });
  });
}

constexpr Kernel kKernels[] = {
    {.op = "CumSum", .run = run_along<functors::Add, 0>, .prepare = prepare},
    {.op = "CumProd", .run = run_along<functors::Mul, 1>, .prepare = prepare},
};

}  // namespace

std::span<const Kernel> cumulative_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
