// Matrix products of CUDA devices in each way in which they are computed: by tiles of either size, by threads and by
// blocks, with and without parts along k, and by the library. The numbers are small integers. Floats hold their
// products and sums exactly, so the CPU's product in int64 must be the same.
#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/random.hpp"
#include "ops/op_set.hpp"
#include "tests/cuda/cuda_kernels.hpp"

namespace ferry::test {
namespace {

using cuda::Order;

constexpr DType kProductDTypes[] = {DType::float32,  DType::float64, DType::float16,
                                    DType::bfloat16, DType::int32,   DType::int64};

/// -1, 0 and 1.
Value whole(Graph& g, const Shape& shape) {
  return cast(uniform(g, shape, -1.9, 1.9), DType::int64);
}

/// `product` of factors of each dtype. Both results are rounded to it once.
template <class Product>
void check_products(const Shape& a_shape, const Shape& b_shape, const Product& product,
                    std::span<const DType> dtypes = kProductDTypes) {
  Graph g;
  const Value a = whole(g, a_shape), b = whole(g, b_shape);
  const Value exact = product(a, b);
  for (const DType dtype : dtypes) {
    CAPTURE(name_of(dtype));
    const Tensor wanted = Evaluator(g).run({cast(exact, dtype)})[0];
    const Value got = product(cast(a, dtype), cast(b, dtype));
    for (const Order order : {Order::forward, Order::backward, Order::shuffled})
      CHECK(run_on_cuda({got}, order)[0].same_bits(wanted));
    cuda::offer_blas(true);
    CHECK(run_on_cuda({got}, Order::forward)[0].same_bits(wanted));
    cuda::offer_blas(false);
  }
}

void check_transposed(std::int64_t m, std::int64_t n, std::int64_t k, std::span<const DType> dtypes = kProductDTypes) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      CAPTURE(ta);
      CAPTURE(tb);
      check_products(
          ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n},
          [&](const Value& a, const Value& b) { return matmul(a, b, ta, tb); }, dtypes);
    }
}

}  // namespace

TEST_CASE("products on CUDA by tiles") {
  check_transposed(65, 130, 37);
  check_transposed(33, 200, 5);
}

constexpr DType kSomeDTypes[] = {DType::float64, DType::bfloat16, DType::int32};

TEST_CASE("products on CUDA by tiles, in parts along k") {
  check_transposed(30, 40, 1100, kSomeDTypes);
  constexpr DType kFloat[] = {DType::float32};
  check_transposed(40, 70, 1537, kFloat);
}

TEST_CASE("products on CUDA by large tiles") {
  constexpr DType kNarrow[] = {DType::float32, DType::bfloat16, DType::int32};
  const auto product = [](const Value& a, const Value& b) { return matmul(a, b); };
  check_products({70, 5}, {5, 16870}, product, kNarrow);
  constexpr DType kFloat[] = {DType::float32};
  check_products(
      {5, 16870}, {70, 5}, [](const Value& a, const Value& b) { return matmul(a, b, true, true); }, kFloat);
}

TEST_CASE("products on CUDA with few rows or columns") {
  check_transposed(1, 150, 200);
  check_transposed(90, 1, 1000, kSomeDTypes);
  check_transposed(3, 5, 700, kSomeDTypes);
  check_transposed(1, 1, 1000);
}

TEST_CASE("batches of products on CUDA") {
  const auto product = [](const Value& a, const Value& b) { return matmul(a, b); };
  check_products({5, 40, 30}, {5, 30, 20}, product);
  check_products({5, 7, 30}, {30, 20}, product);
  check_products({7, 30}, {5, 30, 20}, product);
  check_products({3, 1, 2, 17, 30}, {1, 4, 2, 30, 19}, product);
  check_products({2, 3, 1, 8, 9}, {3, 5, 9, 8}, product);
  check_products({4, 30, 17}, {30, 19}, [](const Value& a, const Value& b) { return matmul(a, b, true); });
  check_products({2, 1, 30, 17}, {3, 19, 30}, [](const Value& a, const Value& b) { return matmul(a, b, true, true); });
}

TEST_CASE("products over rows on CUDA") {
  const auto over_rows = [](const Value& a, const Value& b) {
    const Values factors{a, b};
    return a.graph().add(*default_ops().find("MatMulOverRows"), factors, Attrs(), SourceLine())[0];
  };
  check_products({3, 70, 20}, {3, 70, 33}, over_rows);
  check_products({2000, 9}, {2000, 80}, over_rows);
}

TEST_CASE("products of 8-bit integers on CUDA are those of the CPU") {
  Graph g;
  const auto bytes = [&](const Shape& shape, DType dtype) {
    const bool is_signed = dtype == DType::int8;
    return cast(cast(uniform(g, shape, is_signed ? -128 : 0, is_signed ? 127 : 255), DType::int32), dtype);
  };
  Values all;
  for (const DType left : {DType::int8, DType::uint8})
    for (const DType right : {DType::int8, DType::uint8})
      for (const auto& [m, n, k] : {std::array{70, 90, 300}, std::array{1, 5, 700}, std::array{130, 3, 40}}) {
        const Value a = bytes({m, k}, left), b = bytes({k, n}, right);
        all.push_back(matmul_integer(a, b, bytes({}, left), bytes({}, right)));
        all.push_back(matmul_integer(a, b, bytes({m}, left), bytes({n}, right)));
      }
  const std::vector<Tensor> wanted = Evaluator(g).run(all);
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    const std::vector<Tensor> got = run_on_cuda(all, order);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
  }
}

}  // namespace ferry::test
