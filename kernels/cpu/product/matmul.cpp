#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/few_rows.hpp"
#include "kernels/cpu/product/large_product.hpp"
#include "kernels/cpu/product/product_tile.hpp"
#include "kernels/cpu/product/small_product.hpp"
#include "kernels/cpu/product/thin_product.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/matrices.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// The product of integers, for which there is no library. It goes row by row, so that the innermost loop is along b's
/// rows if b is not transposed.
template <class T>
void multiply(int m, int n, int k, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t c_step) {
  for (int i = 0; i < m; ++i) {
    T* row = c + i * c_step;
    std::fill(row, row + n, T(0));
    for (int p = 0; p < k; ++p) {
      const T factor = a.data[a.transposed ? p * a.step + i : i * a.step + p];
      for (int j = 0; j < n; ++j) {
        const T other = b.data[b.transposed ? j * b.step + p : p * b.step + j];
        row[j] = functors::Add()(row[j], functors::Mul()(factor, other));
      }
    }
  }
}

/// One product, on the calling thread. Small products are computed by tiles, because a library first packs both
/// factors.
template <class T>
void multiply_one(const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t c_step) {
  if constexpr (std::is_floating_point_v<T>)
    if (product_tiles().fused && is_small(sizes, b.transposed)) return multiply_small(sizes, a, b, c, c_step);
  multiply(static_cast<int>(sizes.m), static_cast<int>(sizes.n), static_cast<int>(sizes.k), a, b, c, c_step);
}

/// The number of multiplications that are worth another thread.
constexpr std::int64_t kPieceWork = std::int64_t{1} << 21;

/// The number of rows (or columns) of the result that are computed together. It depends only on the sizes, never on the
/// number of threads, because a library may add in another order at another size. There are at most 8 pieces, each
/// worth another thread.
std::int64_t piece_of(std::int64_t rows, std::int64_t others, std::int64_t k) {
  constexpr std::int64_t kUnit = 32;
  const std::int64_t enough = kPieceWork / std::max<std::int64_t>(1, others * k) + 1;
  const std::int64_t piece = std::max(enough, (rows + 7) / 8);
  return std::min(rows, (piece + kUnit - 1) / kUnit * kUnit);
}

template <class T>
void multiply_all(const KernelRun& run, const Products& products, const Nest<2>& leading, Transposed transposed) {
  const auto [m, n, k, count] = products;
  const std::int64_t a_step = transposed.a ? m : k;
  const std::int64_t b_step = transposed.b ? k : n;
  const bool by_rows = m >= n;
  const std::int64_t piece = by_rows ? piece_of(m, n, k) : piece_of(n, m, k);
  const std::int64_t pieces = ((by_rows ? m : n) + piece - 1) / piece;
  const std::int64_t work = std::max<std::int64_t>(1, piece * k * (by_rows ? n : m));
  const std::int64_t grain = std::max<std::int64_t>(1, kPieceWork / 8 / work);
  for_chunks(run.parallel, count * pieces, grain, [&, m = m, n = n, k = k](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const Walk<2> where(leading, at / pieces);
      const std::int64_t first = at % pieces * piece;
      const std::int64_t size = std::min(piece, (by_rows ? m : n) - first);
      const T* a = run.inputs[0].as<const T>() + where.offset(0) * m * k;
      const T* b = run.inputs[1].as<const T>() + where.offset(1) * k * n;
      T* c = run.outputs[0].as<T>() + at / pieces * m * n;
      const std::int64_t product = at / pieces * m * n;
      if (by_rows)
        multiply_one({size, n, k}, Matrix<T>{a + first * (transposed.a ? 1 : k), a_step, transposed.a},
                     Matrix<T>{b, b_step, transposed.b}, c + first * n, n);
      else
        multiply_one({m, size, k}, Matrix<T>{a, a_step, transposed.a},
                     Matrix<T>{b + first * (transposed.b ? k : 1), b_step, transposed.b}, c + first, n);
      if (by_rows)
        finish_rows(run, product + first * n, size * n, 1, size * n);
      else
        finish_rows(run, product + first, size, m, n);
    }
  });
}

/// The bytes of scratch of a product that is computed by tiles (product_tile.hpp); 0 for other products.
std::int64_t tiles_scratch(const ProductSizes& sizes, DType dtype, Transposed transposed) {
  if (!is_float(dtype)) return 0;
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  if (is_thin(sizes, transposed.a, transposed.b)) return thin_scratch(sizes, transposed.a, transposed.b, element);
  return is_large(sizes) ? large_scratch(sizes, element) : 0;
}

/// Computes the product by tiles or by rows, if it is a single product of suitable sizes with scratch for it. Returns
/// whether it has computed the product.
bool multiply_by_tiles(const KernelRun& run, const Products& products, Transposed transposed) {
  const ProductSizes sizes{products.m, products.n, products.k};
  if (products.count != 1 || !is_float(run.outputs[0].dtype) || !product_tiles().fused) return false;
  const bool few_rows = has_few_rows(sizes, transposed.a, transposed.b);
  const std::int64_t scratch = tiles_scratch(sizes, run.outputs[0].dtype, transposed);
  if (!few_rows && (scratch == 0 || std::ssize(run.scratch) < scratch)) return false;
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto multiply = few_rows                                     ? &multiply_few_rows<T>
                          : is_thin(sizes, transposed.a, transposed.b) ? &multiply_thin<T>
                                                                       : &multiply_large<T>;
    multiply(run, sizes, Matrix<T>{run.inputs[0].as<const T>(), 0, transposed.a},
             Matrix<T>{run.inputs[1].as<const T>(), 0, transposed.b}, run.outputs[0].as<T>());
  });
  return true;
}

/// `leading` has the positions of the factors of each product.
void multiply_products(KernelRun& run, const Products& products, const Nest<2>& leading, Transposed transposed) {
  const Array& output = run.outputs[0];
  if (output.count() == 0 || multiply_by_tiles(run, products, transposed)) return;
  if (products.k == 0) {
    std::fill_n(output.data, static_cast<std::size_t>(output.count()) * size_of(output.dtype), std::byte{0});
    return finish_all(run);
  }
  dispatch_numbers(output.dtype, [&](auto zero) { multiply_all<decltype(zero)>(run, products, leading, transposed); });
}

void matmul(KernelRun& run) {
  const auto transposed = kept<Transposed>(run);
  const BatchOfProducts batch = prepare_products(run.inputs[0], run.inputs[1], run.outputs[0], transposed);
  multiply_products(run, batch.sizes, batch.leading, transposed);
}

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  return keep(transposed_in(setup));
}

/// The bytes of scratch of a product that is computed by tiles, else 0. A batch times one matrix counts as one product.
std::int64_t scratch_bytes(const KernelSetup& setup) {
  const std::vector<std::int64_t> a = setup.inputs[0].shape.sizes(), b = setup.inputs[1].shape.sizes();
  const Transposed transposed = transposed_in(setup);
  const auto batch = product(a, 0, static_cast<int>(a.size()) - 2);
  if (product(b, 0, static_cast<int>(b.size()) - 2) != 1 || (transposed.a && batch != 1)) return 0;
  const auto from_end = [](const auto& sizes, std::size_t n) { return sizes[sizes.size() - n]; };
  const ProductSizes sizes{batch * from_end(a, transposed.a ? 1 : 2), from_end(b, transposed.b ? 2 : 1),
                           from_end(a, transposed.a ? 2 : 1)};
  return tiles_scratch(sizes, setup.outputs[0].dtype, transposed);
}

// ---- The sum over all rows of products of rows: one product, in which the rows of a are transposed ----

constexpr Transposed kFirst{.a = true};

void matmul_over_rows(KernelRun& run) {
  multiply_products(run, product_over_rows(run.inputs[0].sizes, run.inputs[1].sizes), {}, kFirst);
}

std::int64_t over_rows_scratch(const KernelSetup& setup) {
  const std::vector<std::int64_t> a = setup.inputs[0].shape.sizes(), b = setup.inputs[1].shape.sizes();
  const Products one = product_over_rows(a, b);
  return tiles_scratch({one.m, one.n, one.k}, setup.outputs[0].dtype, kFirst);
}

constexpr Kernel kKernels[] = {
    {.op = "MatMulOverRows", .run = matmul_over_rows, .scratch_bytes = over_rows_scratch, .finishes = true},
    {.op = "MatMul", .run = matmul, .prepare = prepare, .scratch_bytes = scratch_bytes, .finishes = true}};

}  // namespace

std::span<const Kernel> matmul_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
