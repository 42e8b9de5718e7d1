#include <algorithm>

#include "base/error.hpp"
#include "kernels/cpu/integer/byte_product.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

enum Input : std::size_t { kA, kB, kAZero, kBZero, kPacked };

constexpr std::int64_t kSmallWork = std::int64_t{1} << 18;  // fewer products are not worth another thread

/// The sizes of a product of [rows,k] and [k,columns].
struct Sizes {
  std::int64_t rows = 1, k = 0, columns = 0;
};

/// `a` has the sizes of all dims, `b` the sizes of two dims.
Sizes sizes_of(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return {product(a, 0, static_cast<int>(a.size()) - 1), b[0], b[1]};
}

Sizes sizes_of(const KernelSetup& setup) {
  return sizes_of(setup.inputs[kA].shape.sizes(), setup.inputs[kB].shape.sizes());
}

std::int64_t rows_bytes(const Sizes& sizes) {
  constexpr std::int64_t kLine = 64;
  return (sizes.rows * packed_row(sizes.k) + kLine - 1) / kLine * kLine;
}

/// Calls f(panel) for each panel, alternately from the first to the last and from the last to the first. If a matrix
/// larger than the cache is multiplied in every step, the cache still has the panels that were read last.
template <class F>
void each_panel(std::int64_t panels, const F& f) {
  static thread_local bool backwards = false;
  for (std::int64_t i = 0; i < panels; ++i) f(backwards ? panels - 1 - i : i);
  backwards = !backwards;
}

void matmul_integer(KernelRun& run) {
  const Array &a = run.inputs[kA], &b = run.inputs[kB];
  Array& output = run.outputs[0];
  const ByteLoops& loops = *kept<const ByteLoops*>(run);
  if (a.rank() > 1) output.sizes[0] = a.sizes[0];
  const Sizes sizes = sizes_of(a.sizes, b.sizes);
  if (output.count() == 0) return;
  std::byte* const packed_rows = run.scratch.data();
  pack_rows(loops, run.parallel, sizes.rows, sizes.k, a.dtype, a.data, packed_rows);

  const std::byte* const packed = run.inputs.size() > kPacked ? run.inputs[kPacked].data : nullptr;
  const ZeroPoints a_zeros(run.inputs[kAZero]), b_zeros(run.inputs[kBZero]);
  auto* const c = output.as<std::int32_t>();
  const std::int64_t panels = panels_of(sizes.columns);
  const std::int64_t blocks = std::clamp(kScratchLanes / panels, std::int64_t{1}, sizes.rows / 64 + 1);
  const auto compute = [&](std::int64_t panel, std::int64_t begin, std::int64_t end, std::byte* scratch) {
    const std::int64_t first = panel * kPanelColumns;
    if (packed == nullptr) pack_panel(loops, sizes.k, sizes.columns, b.dtype, b.data, first, scratch);
    multiply_panel(
        loops, end - begin, sizes.k, static_cast<int>(std::min<std::int64_t>(kPanelColumns, sizes.columns - first)),
        packed_rows + begin * packed_row(sizes.k), packed == nullptr ? scratch : packed + panel * packed_panel(sizes.k),
        a_zeros.from(begin), b_zeros.from(first), c + begin * sizes.columns + first, sizes.columns);
  };
  std::byte* const lanes = packed_rows + rows_bytes(sizes);
  if (run.parallel.threads() == 1 || sizes.rows * sizes.columns * sizes.k <= kSmallWork)
    return each_panel(panels, [&](std::int64_t panel) { compute(panel, 0, sizes.rows, lanes); });
  in_lanes(run, panels * blocks, lanes, packed_panel(sizes.k), [&](std::int64_t item, std::byte* scratch) {
    const std::int64_t block = item / panels;
    compute(item % panels, sizes.rows * block / blocks, sizes.rows * (block + 1) / blocks, scratch);
  });
}

std::int64_t scratch_bytes(const KernelSetup& setup) {
  const Sizes sizes = sizes_of(setup);
  const std::int64_t lanes = setup.inputs.size() > kPacked ? 0 : kScratchLanes;
  return rows_bytes(sizes) + lanes * packed_panel(sizes.k);
}

std::int64_t packed_elements(const Sizes& sizes) {
  return panels_of(sizes.columns) * packed_panel(sizes.k);
}

template <int level>
std::unique_ptr<KernelState> prepare(const KernelSetup&) {
  return keep(&byte_loops_of(level));
}

/// Checks inputs and outputs itself, because no op definition does it for this kernel.
template <int level>
std::unique_ptr<KernelState> prepare_packing(const KernelSetup& setup) {
  const bool one = setup.inputs.size() == 1 && setup.outputs.size() == 1;
  const Type matrix = one ? setup.inputs[0] : Type(), packed = one ? setup.outputs[0] : Type();
  const std::vector<std::int64_t> sizes = matrix.shape.sizes();
  if (sizes.size() != 2 || size_of(matrix.dtype) != 1 || packed.dtype != matrix.dtype ||
      packed.shape.count() != packed_elements({1, sizes[0], sizes[1]}))
    throw Error(Code::plan, "PackedMatrix: it cannot make " + packed.str() + " of " + matrix.str());
  return prepare<level>(setup);
}

void packed_matrix(KernelRun& run) {
  const Array& matrix = run.inputs[0];
  const std::int64_t k = matrix.sizes[0], columns = matrix.sizes[1], panels = panels_of(columns);
  for_chunks(run.parallel, panels, grain_of(k * kPanelColumns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel)
      pack_panel(*kept<const ByteLoops*>(run), k, columns, matrix.dtype, matrix.data, panel * kPanelColumns,
                 run.outputs[0].data + panel * packed_panel(k));
  });
}

template <int level>
constexpr Kernel kKernels[2] = {
    {.op = "MatMulInteger",
     .run = matmul_integer,
     .prepare = prepare<level>,
     .scratch_bytes = scratch_bytes,
     .takes = kBytesAndSums,
     .packing = {kB, "PackedMatrix", [](const KernelSetup& setup) { return packed_elements(sizes_of(setup)); }}},
    {.op = "PackedMatrix", .run = packed_matrix, .prepare = prepare_packing<level>, .takes = kBytesAndSums},
};

}  // namespace

std::span<const Kernel> matmul_integer_kernels(int level) {
  return level == 4 ? kKernels<4> : level == 3 ? kKernels<3> : kKernels<1>;
}

}  // namespace ferry::cpu
