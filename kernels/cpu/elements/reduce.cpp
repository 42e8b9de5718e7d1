#include <algorithm>

#include "kernels/cpu/elements/lanes.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/passes.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// The elements along a pass are folded in chunks of this many; then the chunks' results are folded in order.
std::int64_t chunk_of(const Pass& pass) {
  return pass.inner == 1 ? 4096 : 256;
}
std::int64_t chunks_of(const Pass& pass) {
  return std::max<std::int64_t>(1, (pass.along + chunk_of(pass) - 1) / chunk_of(pass));
}
/// The number of results of chunks, if there are several chunks.
std::int64_t partials_of(const Pass& pass) {
  return chunks_of(pass) == 1 ? 0 : pass.results() * chunks_of(pass);
}

/// The scratch: the results of the current pass's chunks, and two arrays that alternate as the results of passes.
struct ScratchSizes {
  std::int64_t partials = 0, between = 0;
  [[nodiscard]] std::int64_t elements() const { return partials + 2 * between; }
};

ScratchSizes scratch_sizes_of(const std::vector<Pass>& passes) {
  ScratchSizes scratch_sizes;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    scratch_sizes.partials = std::max(scratch_sizes.partials, partials_of(passes[i]));
    if (i + 1 < passes.size()) scratch_sizes.between = std::max(scratch_sizes.between, passes[i].results());
  }
  return scratch_sizes;
}

/// out[inner] = the rows of in[rows, inner], joined in order.
template <class T, class Join>
void fold_rows(const T* in, std::int64_t rows, std::int64_t inner, T start, T* out) {
  constexpr Join kJoin{};
  if (inner == 1) {
    constexpr bool kIsSum = std::is_same_v<Join, functors::Add> || std::is_same_v<Join, functors::Mul>;
    constexpr std::int64_t kFoldLanes = kIsSum ? kLanes : 4 * kLanes;  // other joins give the same bits in any order
    *out = fold_lanes<kFoldLanes>(
        rows, start, [in](std::int64_t i) { return in[i]; }, kJoin);
    return;
  }
  std::fill_n(out, inner, start);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = in + r * inner;
#pragma omp simd
    for (std::int64_t k = 0; k < inner; ++k) out[k] = kJoin(out[k], row[k]);
  }
}

template <class T, class Join>
void run_pass(const KernelRun& run, const Pass& pass, const T* in, T start, T* out, T* partials) {
  const auto [outer, along, inner] = pass;
  const std::int64_t chunk = chunk_of(pass);
  const std::int64_t chunks = chunks_of(pass);
  T* first = chunks == 1 ? out : partials;
  const std::int64_t work = std::min(along, chunk) * inner;
  const auto fold = [&, along = along, inner = inner](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t from = at % chunks * chunk;
      fold_rows<T, Join>(in + (at / chunks * along + from) * inner, std::min(chunk, along - from), inner, start,
                         first + at * inner);
    }
  };
  if (run.piece.last >= 0) return run.piece.each_row(fold);
  for_chunks(run.parallel, outer * chunks, grain_of(work), fold);
  if (chunks == 1) return;
  for_chunks(run.parallel, outer, grain_of(chunks * inner), [&, inner = inner](auto begin, auto end) {
    for (std::int64_t at = begin; at < end; ++at)
      fold_rows<T, Join>(partials + at * chunks * inner, chunks, inner, start, out + at * inner);
  });
}

template <class T, class Join>
void run_passes(KernelRun& run, const std::vector<Pass>& passes, T start) {
  const ScratchSizes scratch_sizes = scratch_sizes_of(passes);
  T* partials = reinterpret_cast<T*>(run.scratch.data());
  T* between[] = {partials + scratch_sizes.partials, partials + scratch_sizes.partials + scratch_sizes.between};
  const T* in = run.inputs[0].as<const T>();
  for (std::size_t i = 0; i < passes.size(); ++i) {
    T* out = i + 1 == passes.size() ? run.outputs[0].as<T>() : between[i % 2];
    run_pass<T, Join>(run, passes[i], in, start, out, partials);
    in = out;
  }
}

/// The passes for sizes at their bounds, made when the kernel is prepared. If a bounded dim is smaller in a step, the
/// step uses other passes.
struct Reduction {
  std::vector<bool> reduced;
  std::vector<std::int64_t> sizes;
  std::vector<Pass> passes;
};

template <class Join>
void reduce(KernelRun& run) {
  const auto& reduction = kept<Reduction>(run);
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto run_with = [&](const std::vector<Pass>& passes) {
    const auto run_typed = [&](auto zero) {
      run_passes<decltype(zero), Join>(run, passes, start_of<decltype(zero), Join>());
    };
    if constexpr (std::is_same_v<Join, functors::Add> || std::is_same_v<Join, functors::Mul>)
      dispatch_numbers(input.dtype, run_typed);
    else
      dispatch_ordered(input.dtype, run_typed);
  };
  if (std::ranges::equal(input.sizes, reduction.sizes)) return run_with(reduction.passes);
  if (!reduction.reduced[0]) output.sizes[0] = input.sizes[0];
  run_with(passes_of(input.sizes, reduction.reduced));
}

using DimsFn = std::vector<bool> (*)(const KernelSetup&);

template <DimsFn dims>
std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const std::vector<std::int64_t> sizes = setup.inputs[0].shape.sizes();
  return keep(Reduction{dims(setup), sizes, passes_of(sizes, dims(setup))});
}

template <DimsFn dims>
std::int64_t scratch_bytes(const KernelSetup& setup) {
  const ScratchSizes scratch_sizes = scratch_sizes_of(passes_of(setup.inputs[0].shape.sizes(), dims(setup)));
  return scratch_sizes.elements() * static_cast<std::int64_t>(size_of(setup.inputs[0].dtype));
}

/// Kernel::row: the number of elements that are folded into one, if these are contiguous and few enough for one chunk.
template <DimsFn dims>
std::int64_t row(const KernelSetup& setup) {
  const std::vector<Pass> passes = passes_of(setup.inputs[0].shape.sizes(), dims(setup));
  const Pass& pass = passes[0];
  return passes.size() == 1 && pass.inner == 1 && chunks_of(pass) == 1 && pass.along > 1 ? pass.along : 0;
}

// ---- ArgMax and ArgMin ----

struct Arg {
  std::int64_t axis;
  bool last;
};

/// The index of the best element of a row with elements `step` apart: the first of equal elements, or the last if
/// `last`. NaN is better than numbers.
template <class Better, class T>
std::int64_t best_of_row(const T* row, std::int64_t n, std::int64_t step, bool last) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    const T x = row[i * step];
    const T y = row[best * step];
    const bool better = x != x ? y == y : Better()(x, y);
    const bool equal = x == y || (x != x && y != y);
    if (better || (last && equal)) best = i;
  }
  return best;
}

/// The index of the first best element of a contiguous row. Vector code finds the best element first, and then its
/// index.
template <class Fold, class T>
std::int64_t first_best(const T* row, std::int64_t n) {
  const T top = fold_lanes(
      n, row[0], [row](std::int64_t i) { return row[i]; }, Fold());
  const auto is_top = [top](T x) { return (x == top) | ((x != x) & (top != top)); };
  constexpr std::int64_t kBlock = 64;
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int found = 0;
#pragma omp simd reduction(| : found)
    for (std::int64_t k = 0; k < kBlock; ++k) found |= static_cast<int>(is_top(row[i + k]));
    if (found != 0) break;
  }
  while (!is_top(row[i])) ++i;
  return i;
}

/// `Better` returns whether its first argument is better than the second; `Fold` returns the better of two.
template <class Better, class Fold>
void index_of_best(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& arg = kept<Arg>(run);
  const int dim = dim_of(arg.axis, input.rank());
  if (dim > 0) output.sizes[0] = input.sizes[0];
  const std::int64_t along = input.sizes[dim];
  if (along == 0) throw BadValue(0, "dim 0, which the step decides, is empty: there is no best element");
  const std::int64_t inner = product(input.sizes, dim + 1, input.rank());
  dispatch_ordered(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, output.count(), grain_of(along), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at)
        output.as<std::int64_t>()[at] =
            inner == 1 && !arg.last ? first_best<Fold>(input.as<const T>() + at * along, along)
                                    : best_of_row<Better>(input.as<const T>() + at / inner * along * inner + at % inner,
                                                          along, inner, arg.last);
    });
  });
}

std::unique_ptr<KernelState> prepare_arg(const KernelSetup& setup) {
  return keep(Arg{setup.attrs.get<std::int64_t>("axis"), setup.attrs.get_or("last", false)});
}

constexpr Kernel kKernels[] = {
    {.op = "Sum",
     .run = reduce<functors::Add>,
     .prepare = prepare<reduced_axes>,
     .scratch_bytes = scratch_bytes<reduced_axes>,
     .row = row<reduced_axes>},
    {.op = "Max",
     .run = reduce<functors::Maximum>,
     .prepare = prepare<reduced_axes>,
     .scratch_bytes = scratch_bytes<reduced_axes>,
     .row = row<reduced_axes>,
     .takes = kOrdered,
     .saturates = true},  // the result for no elements is the end of the range
    {.op = "Min",
     .run = reduce<functors::Minimum>,
     .prepare = prepare<reduced_axes>,
     .scratch_bytes = scratch_bytes<reduced_axes>,
     .row = row<reduced_axes>,
     .takes = kOrdered,
     .saturates = true},  // the result for no elements is the end of the range
    {.op = "SumLike",
     .run = reduce<functors::Add>,
     .prepare = prepare<spread_dims>,
     .scratch_bytes = scratch_bytes<spread_dims>,
     .row = row<spread_dims>},
    {.op = "Prod",
     .run = reduce<functors::Mul>,
     .prepare = prepare<reduced_axes>,
     .scratch_bytes = scratch_bytes<reduced_axes>,
     .row = row<reduced_axes>},
    {.op = "ArgMax",
     .run = index_of_best<functors::Greater, functors::Maximum>,
     .prepare = prepare_arg,
     .takes = kOrdered},
    {.op = "ArgMin",
     .run = index_of_best<functors::Less, functors::Minimum>,
     .prepare = prepare_arg,
     .takes = kOrdered},
};

}  // namespace

std::span<const Kernel> reduce_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
