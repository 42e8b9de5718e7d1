// Products of matrices: by cuBLASLt if it is installed and the dtype is a float, else by ferry's own kernel.
#include <bit>
#include <limits>
#include <memory>
#include <span>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/product/blas.hpp"
#include "kernels/cuda/product/matrices.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/shared/sized.hpp"

namespace ferry::cuda {
namespace {

struct ProductState final : KernelState {
  explicit ProductState(Transposed of) : transposed(of) {}
  Transposed transposed;
  std::unique_ptr<BlasAlgorithm> algorithm;
  std::uint32_t alignment = 0;       ///< of the arrays for which the algorithm was chosen; 0: not chosen yet
  const std::byte* tried = nullptr;  ///< the last argument of can_add()
  bool adds = false;                 ///< its result
};

template <class T>
void multiply_matrices(const KernelRun& run, const BatchOfProducts& batch, Transposed transposed) {
  const Numbers<T> a{run.inputs[0].as<const T>()}, b{run.inputs[1].as<const T>()};
  MatrixFactors<Numbers<T>, Numbers<T>, T> factors(batch.sizes, transposed, a, b, run.outputs[0].as<T>());
  factors.set_leading(batch.leading);
  multiply(run, shape_of(batch.sizes, transposed), factors);
}

// ---- By the library ----

constexpr std::uintptr_t kMostAligned = 256;  // a larger alignment of arrays makes no algorithm faster
constexpr std::uint32_t kBiasAligned = 16;    // the library's kernels read this many bytes of a bias at once

/// The library's working memory. It recommends 32 MiB for an H100; small products need little.
std::int64_t workspace_bytes(const Products& products) {
  constexpr std::int64_t kMost = std::int64_t{32} << 20, kLeast = std::int64_t{64} << 10;
  return std::min(kMost, kLeast + 32 * products.count * products.m * products.n);
}

/// The products along the last of the leading dims. The rows of ferry's matrices are columns for the library, which
/// therefore sees each matrix transposed, and computes c' = b' a'.
BlasProduct for_library(const BatchOfProducts& batch, Transposed transposed, DType dtype) {
  const auto [m, n, k, count] = batch.sizes;
  const auto matrix = [](std::int64_t rows, std::int64_t columns, bool is_transposed) -> BlasMatrix {
    return {.rows = columns, .columns = rows, .step = columns, .next = 0, .transposed = is_transposed};
  };
  BlasProduct product{.dtype = dtype,
                      .count = 1,
                      .a = transposed.b ? matrix(n, k, true) : matrix(k, n, false),
                      .b = transposed.a ? matrix(k, m, true) : matrix(m, k, false),
                      .c = matrix(m, n, false)};
  if (count == 1) return product;
  const auto last = static_cast<std::size_t>(batch.leading.dims - 1);
  product.count = batch.leading.sizes[last];
  product.a.next = batch.leading.steps[1][last] * k * n;
  product.b.next = batch.leading.steps[0][last] * m * k;
  product.c.next = m * n;
  return product;
}

/// The largest power of 2, up to a limit, to which all matrices are aligned.
std::uint32_t alignment_of(const KernelRun& run, const Products& products) {
  std::uintptr_t all = kMostAligned;
  for (const Array& array : {run.inputs[0], run.inputs[1], run.outputs[0]})
    all |= reinterpret_cast<std::uintptr_t>(array.data);
  const auto [m, n, k, count] = products;
  if (count > 1)
    for (const std::int64_t elements : {m * k, k * n, m * n})
      all |= static_cast<std::uintptr_t>(elements) * size_of(run.outputs[0].dtype);
  return 1U << std::countr_zero(all);
}

/// The addend of the epilogue, if the epilogue is one addition and the library gives the same bits. It does not for
/// 16-bit floats: it adds to the float32 sum, and the op adds to the rounded product
/// (docs/internals/decisions/gpu_epilogues.md).
BlasAddend addend_of(const KernelRun& run, const Products& products) {
  const DType dtype = run.outputs[0].dtype;
  if (run.epilogue == nullptr || (dtype != DType::float32 && dtype != DType::float64)) return {};
  const FusedKernels& kernels = run.epilogue->kernels;
  const FusedKernels::Member& first = kernels.members.front();
  if (kernels.members.size() > 1 || first.kernel->op != "Add") return {};
  const std::uint32_t made = kernels.inputs - 1, other = first.inputs[first.inputs[0] == made ? 1 : 0];
  if (other == made) return {};
  const Array &added = run.epilogue->arrays[other], &c = run.outputs[0];
  const std::span<const std::byte> from(added.data, static_cast<std::size_t>(added.count()) * size_of(dtype));
  if (added.count() == c.count()) return {BlasAddend::Has::all, from};
  const bool along_last = added.count() == products.n && added.rank() > 0 && added.sizes.back() == products.n &&
                          c.sizes.back() == products.n;
  return along_last ? BlasAddend{BlasAddend::Has::one_a_row, from} : BlasAddend();
}

/// Whether the library adds the addend with the algorithm that it uses for the product alone.
bool adds(ProductState& state, const BlasAddend& addend) {
  if (addend.has == BlasAddend::Has::nothing) return false;
  const bool whole = addend.has == BlasAddend::Has::all;
  const std::uint32_t aligned = whole ? state.alignment : kBiasAligned;
  if (reinterpret_cast<std::uintptr_t>(addend.from.data()) % aligned != 0) return false;
  if (state.tried != addend.from.data()) {
    state.adds = can_add(*state.algorithm, addend);
    state.tried = addend.from.data();
  }
  return state.adds;
}

/// Runs the kernel and its epilogue by the library. Returns false, and does nothing, if the library has no algorithm.
bool multiply_by_library(const KernelRun& run, const BatchOfProducts& batch, ProductState& state) {
  const DType dtype = run.outputs[0].dtype;
  const auto [m, n, k, count] = batch.sizes;
  if (!is_float(dtype) || run.outputs[0].count() == 0 || k == 0 || !why_no_blas().empty()) return false;
  const BlasProduct product = for_library(batch, state.transposed, dtype);
  if (product.count > std::numeric_limits<std::int32_t>::max()) return false;
  const std::span<std::byte> workspace = workspace_in(run, workspace_bytes(batch.sizes));
  const std::uint32_t alignment = alignment_of(run, batch.sizes);
  if (state.alignment == 0 || alignment < state.alignment) {
    state.algorithm = choose_algorithm(product, alignment, workspace.size());
    state.alignment = alignment;
    state.tried = nullptr;
  }
  if (state.algorithm == nullptr) return false;
  BlasAddend addend = addend_of(run, batch.sizes);
  const bool follows = run.epilogue != nullptr && !adds(state, addend);
  if (follows) addend = {};
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t first = 0; first < count; first += product.count) {
    std::int64_t a = 0, b = 0, rest = first / product.count;
    for (int d = batch.leading.dims - 2; d >= 0; --d) {
      const auto dim = static_cast<std::size_t>(d);
      const std::int64_t index = rest % batch.leading.sizes[dim];
      rest /= batch.leading.sizes[dim];
      a += index * batch.leading.steps[0][dim] * m * k;
      b += index * batch.leading.steps[1][dim] * k * n;
    }
    const std::int64_t at = first * m * n * element;
    BlasAddend here = addend;
    if (here.has == BlasAddend::Has::all)
      here.from =
          here.from.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(product.count * m * n * element));
    multiply(run, *state.algorithm, run.inputs[1].data + b * element, run.inputs[0].data + a * element,
             run.outputs[0].data + at, here, workspace);
  }
  if (follows) run.epilogue->follow(run);
  return true;
}

void multiply_batch(const KernelRun& run, const BatchOfProducts& batch) {
  auto& state = *static_cast<ProductState*>(run.state);
  if (multiply_by_library(run, batch, state)) return;
  dispatch_all_numbers(run.outputs[0].dtype,
                       [&](auto zero) { multiply_matrices<decltype(zero)>(run, batch, state.transposed); });
  if (run.epilogue != nullptr) run.epilogue->follow(run);
}

std::int64_t scratch_of(const Products& products, Transposed transposed, DType dtype) {
  const std::size_t sum = is_float(dtype) && dtype != DType::float64 ? sizeof(float) : size_of(dtype);
  const std::int64_t own = product_scratch(shape_of(products, transposed), sum);
  return is_float(dtype) ? std::max(own, scratch_for_workspace(workspace_bytes(products))) : own;
}

// ---- The ops ----

void matmul(KernelRun& run) {
  const Transposed transposed = static_cast<ProductState*>(run.state)->transposed;
  multiply_batch(run, prepare_products(run.inputs[0], run.inputs[1], run.outputs[0], transposed));
}

std::unique_ptr<KernelState> prepare_matmul(const KernelSetup& setup) {
  return std::make_unique<ProductState>(transposed_in(setup));
}

std::int64_t matmul_scratch(const KernelSetup& setup) {
  SizedArray a(setup.inputs[0]), b(setup.inputs[1]), c(setup.outputs[0]);
  const Transposed transposed = transposed_in(setup);
  return scratch_of(prepare_products(a.array(), b.array(), c.array(), transposed).sizes, transposed,
                    setup.outputs[0].dtype);
}

constexpr Transposed kFirst{.a = true};

void matmul_over_rows(KernelRun& run) {
  multiply_batch(run, {product_over_rows(run.inputs[0].sizes, run.inputs[1].sizes), {}});
}

std::unique_ptr<KernelState> prepare_over_rows(const KernelSetup&) {
  return std::make_unique<ProductState>(kFirst);
}

std::int64_t over_rows_scratch(const KernelSetup& setup) {
  const std::vector<std::int64_t> a = setup.inputs[0].shape.sizes(), b = setup.inputs[1].shape.sizes();
  return scratch_of(product_over_rows(a, b), kFirst, setup.outputs[0].dtype);
}

constexpr Kernel kMatmulKernels[] = {
    {.op = "MatMulOverRows",
     .run = matmul_over_rows,
     .prepare = prepare_over_rows,
     .scratch_bytes = over_rows_scratch,
     .takes = kAllNumbers},
    {.op = "MatMul",
     .run = matmul,
     .prepare = prepare_matmul,
     .scratch_bytes = matmul_scratch,
     .finishes = true,
     .takes = kAllNumbers},
};

}  // namespace

std::span<const Kernel> matmul_kernels() {
  return kMatmulKernels;
}

}  // namespace ferry::cuda
