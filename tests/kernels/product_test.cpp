// Matrix products by tiles, with a small factor or two large ones. The numbers are integers that floats hold exactly,
// so that the product in int64 must be the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "ops/array/array.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/random.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

/// Whole numbers from -8 to 8.
Value whole(Graph& g, std::int64_t rows, std::int64_t columns) {
  return cast(uniform(g, {rows, columns}, -8.9, 8.9), DType::int64);
}

void check_product(const Value& a, const Value& b, bool a_transposed, bool b_transposed) {
  const auto product = [&](DType dtype) {
    return cast(matmul(cast(a, dtype), cast(b, dtype), a_transposed, b_transposed), DType::int64);
  };
  const Values all{product(DType::int64), product(DType::float32), product(DType::float64)};
  for (int threads : {1, 3}) {
    test::Threads parallel(threads);
    test::EvaluateOptions options;
    options.parallel = &parallel;
    const std::vector<Tensor> got = test::Evaluator(a.graph(), options).run(all);
    CHECK(got[1].same_bits(got[0]));
    CHECK(got[2].same_bits(got[0]));
  }
}

TEST_CASE("few rows times many, transposed") {
  Graph g;
  check_product(whole(g, 20, 260), whole(g, 410, 260), false, true);
  check_product(whole(g, 64, 200), whole(g, 200, 200), false, true);
}

TEST_CASE("one to four rows times a large matrix") {
  Graph g;
  for (const std::int64_t rows : {1, 2, 4}) {
    check_product(whole(g, rows, 300), whole(g, 300, 128), false, false);
    check_product(whole(g, rows, 130), whole(g, 130, 1111), false, false);  // the last columns fill no vector
    check_product(whole(g, rows, 600), whole(g, 600, 517), false, false);   // the last thread's columns fill no vector
    check_product(whole(g, rows, 2100), whole(g, 2100, 17), false, false);
    check_product(whole(g, rows, 2100), whole(g, 17, 2100), false, true);
    check_product(whole(g, rows, 37), whole(g, 1003, 37), false, true);  // the last terms fill no vector
    check_product(whole(g, rows, 16), whole(g, 335, 16), false, true);
    check_product(whole(g, rows, 40000), whole(g, 1, 40000), false, true);
  }
  check_product(whole(g, 300, 1), whole(g, 300, 200), true, false);
}

TEST_CASE("a row's bits do not depend on the number of threads") {
  Graph g;
  const Value x = normal(g, {1, 600});
  const Values all{matmul(x, normal(g, {600, 577})), matmul(x, normal(g, {600, 3000})),
                   matmul(x, normal(g, {577, 600}), false, true)};
  const std::vector<Tensor> expected = test::Evaluator(g).run(all);
  for (int threads : {2, 3, 8}) {
    CAPTURE(threads);
    test::Threads parallel(threads);
    test::EvaluateOptions options;
    options.parallel = &parallel;
    const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
    for (std::size_t k = 0; k < all.size(); ++k) CHECK(got[k].same_bits(expected[k]));
  }
}

TEST_CASE("a row's bits depend neither on other rows nor on the instruction set") {
  Graph g;
  const Value x = normal(g, {4, 333}), w = normal(g, {333, 203}), v = normal(g, {203, 333});
  const Values all{matmul(x, w), matmul(x, v, false, true), matmul(slice(x, 0, 2, 3), w),
                   matmul(slice(x, 0, 2, 3), v, false, true)};
  std::vector<Tensor> first;
  for (const KernelTable& level : cpu_kernel_levels()) {
    test::EvaluateOptions options;
    options.kernels = &level;
    const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* rows = got[i].data<float>().data();
      CHECK(std::equal(rows + 2 * 203, rows + 3 * 203, got[i + 2].data<float>().data()));
    }
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(got[i].same_bits(first[i]));
  }
}

TEST_CASE("small products with a transposed matrix, alone and in a batch") {
  Graph g;
  for (const auto& [m, n, k] : {std::array{8, 32, 32}, std::array{23, 35, 200}, std::array{65, 64, 64}})
    for (const std::int64_t count : {1, 5})
      for (const bool a_transposed : {false, true}) {
        const auto factor = [&](std::int64_t rows, std::int64_t columns) {
          return cast(uniform(g, {count, rows, columns}, -8.9, 8.9), DType::int64);
        };
        check_product(a_transposed ? factor(k, m) : factor(m, k), factor(n, k), a_transposed, true);
      }
}

TEST_CASE("sums of few products") {
  Graph g;
  check_product(whole(g, 100, 411), whole(g, 100, 61), true, false);
}

TEST_CASE("sums of many products of few rows") {
  Graph g;
  for (const std::int64_t rows : {3, 8, 33, 100}) {
    check_product(whole(g, 6513, rows), whole(g, 6513, 127), true, false);
    check_product(whole(g, 1000, rows), whole(g, 1000, 256), true, false);
  }
}

TEST_CASE("few rows times a large matrix") {
  Graph g;
  check_product(whole(g, 33, 900), whole(g, 900, 1220), false, false);
}

TEST_CASE("few rows times a matrix that is read where it lies: the bits of the product for which it is packed") {
  Graph g;
  check_product(whole(g, 33, 1000), whole(g, 1000, 96), false, false);
  const Value x = normal(g, {64, 1000}), w = normal(g, {1000, 96});
  const std::vector<Tensor> got =
      test::Evaluator(g).run({matmul(slice(x, 0, 0, 33), w), slice(matmul(x, w), 0, 0, 33)});
  CHECK(got[0].same_bits(got[1]));
}

TEST_CASE("large matrices") {
  Graph g;
  const Value a = whole(g, 150, 801), b = whole(g, 801, 1101);
  const Value a_transposed = whole(g, 801, 150), b_transposed = whole(g, 1101, 801);
  check_product(a, b, false, false);
  check_product(a_transposed, b, true, false);
  check_product(a, b_transposed, false, true);
  check_product(a_transposed, b_transposed, true, true);
  check_product(whole(g, 130, 500), whole(g, 500, 330), false, false);  // cut by columns
  check_product(whole(g, 270, 200), whole(g, 200, 330), false, false);  // eight blocks of rows
  check_product(whole(g, 523, 100), whole(g, 100, 600), false, false);  // sixteen blocks
}

}  // namespace
}  // namespace ferry
