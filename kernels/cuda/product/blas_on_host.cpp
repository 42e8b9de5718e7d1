// Replaces cuBLASLt in tests by plain loops over the described matrices.
#include <algorithm>

#include "base/error.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/product/blas.hpp"
#include "kernels/cuda_on_host.hpp"

namespace ferry::cuda {
namespace {

bool is_offered = false;

struct Chosen final : BlasAlgorithm {
  Chosen(const BlasProduct& given, std::uint32_t align, std::size_t bytes)
      : product(given), alignment(align), workspace_bytes(bytes) {}
  BlasProduct product;
  std::uint32_t alignment;
  std::size_t workspace_bytes;
  const std::byte* asked = nullptr;  ///< the last requested addend that it supports
};

std::int64_t rows_of(const BlasMatrix& matrix) {
  return matrix.transposed ? matrix.columns : matrix.rows;
}
std::int64_t columns_of(const BlasMatrix& matrix) {
  return matrix.transposed ? matrix.rows : matrix.columns;
}

/// The offset of element [row, column] of matrix `number`. Row and column are after transposing.
std::int64_t place(const BlasMatrix& matrix, std::int64_t number, std::int64_t row, std::int64_t column) {
  if (matrix.transposed) std::swap(row, column);
  return number * matrix.next + column * matrix.step + row;
}

/// The number of products with an addend so far.
int added = 0;

template <class T>
void multiply_all(const BlasProduct& product, const T* a, const T* b, T* c, BlasAddend::Has has, const T* more) {
  for (std::int64_t number = 0; number < product.count; ++number)
    for (std::int64_t j = 0; j < product.c.columns; ++j)
      for (std::int64_t i = 0; i < product.c.rows; ++i) {
        typename Computed<T>::type sum = 0;
        for (std::int64_t p = 0; p < columns_of(product.a); ++p)
          sum += load(a[place(product.a, number, i, p)]) * load(b[place(product.b, number, p, j)]);
        const std::int64_t at = place(product.c, number, i, j);
        if (has != BlasAddend::Has::nothing) sum += load(more[has == BlasAddend::Has::all ? at : i]);
        c[at] = stored_as<T>(sum);
      }
}

/// Checks the library's requirements for an addend.
void check_addend(const Chosen& chosen, const BlasAddend& addend) {
  if (addend.has == BlasAddend::Has::nothing) return;
  const BlasMatrix& c = chosen.product.c;
  const bool whole = addend.has == BlasAddend::Has::all;
  const std::int64_t elements = whole ? chosen.product.count * c.rows * c.columns : c.rows;
  const auto address = reinterpret_cast<std::uintptr_t>(addend.from.data());
  FERRY_ASSERT(chosen.asked != nullptr && addend.from.data() >= chosen.asked,
               "nobody has asked whether it can be added");
  FERRY_ASSERT(std::ssize(addend.from) == elements * static_cast<std::int64_t>(size_of(chosen.product.dtype)),
               "the addend has another size");
  FERRY_ASSERT(address % (whole ? chosen.alignment : 16) == 0, "the addend is not aligned");
}

}  // namespace

void offer_blas(bool is_there) {
  is_offered = is_there;
}

int sums_of_blas() {
  return added;
}

std::string why_no_blas() {
  return is_offered ? "" : "no library is offered";
}

std::unique_ptr<BlasAlgorithm> choose_algorithm(const BlasProduct& product, std::uint32_t alignment,
                                                std::size_t workspace_bytes) {
  for (const BlasMatrix* matrix : {&product.a, &product.b, &product.c})
    FERRY_ASSERT(matrix->rows > 0 && matrix->columns > 0 && matrix->step >= matrix->rows, "a matrix has bad sizes");
  FERRY_ASSERT(rows_of(product.a) == product.c.rows && columns_of(product.b) == product.c.columns &&
                   columns_of(product.a) == rows_of(product.b) && !product.c.transposed,
               "the sizes of matrices do not fit each other");
  return std::make_unique<Chosen>(product, alignment, workspace_bytes);
}

/// Like cuBLASLt, it has no epilogue that adds a bias to float64.
bool can_add(BlasAlgorithm& algorithm, const BlasAddend& addend) {
  auto& chosen = static_cast<Chosen&>(algorithm);
  FERRY_ASSERT(addend.has != BlasAddend::Has::nothing, "nothing is to be added");
  const bool can = addend.has == BlasAddend::Has::all || chosen.product.dtype != DType::float64;
  chosen.asked = can ? addend.from.data() : nullptr;
  return can;
}

void multiply(const KernelRun& run, BlasAlgorithm& algorithm, const std::byte* a, const std::byte* b, std::byte* c,
              const BlasAddend& addend, std::span<std::byte> workspace) {
  const auto& chosen = static_cast<const Chosen&>(algorithm);
  for (const std::byte* matrix : {a, b, static_cast<const std::byte*>(c)})
    FERRY_ASSERT(reinterpret_cast<std::uintptr_t>(matrix) % chosen.alignment == 0, "a matrix is not aligned");
  FERRY_ASSERT(workspace.size() == chosen.workspace_bytes, "the workspace has another size");
  FERRY_ASSERT(reinterpret_cast<std::uintptr_t>(workspace.data()) % 256 == 0, "the workspace is not aligned");
  check_addend(chosen, addend);
  if (addend.has != BlasAddend::Has::nothing) ++added;
  detail::launch(run, [&chosen, a, b, c, addend, workspace] {
    std::ranges::fill(workspace, std::byte{0xff});
    dispatch_all_floats(chosen.product.dtype, [&](auto zero) {
      using T = decltype(zero);
      multiply_all(chosen.product, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
                   reinterpret_cast<T*>(c), addend.has, reinterpret_cast<const T*>(addend.from.data()));
    });
  });
}

}  // namespace ferry::cuda
