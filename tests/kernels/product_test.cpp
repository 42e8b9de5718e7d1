// Matrix products by tiles, with a small factor or two large ones. The numbers are integers that floats hold exactly,
// so that the product in int64 must be the same.
#include <doctest/doctest.h>

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

TEST_CASE("sums of few products") {
  Graph g;
  check_product(whole(g, 100, 411), whole(g, 100, 61), true, false);
}

TEST_CASE("few rows times a large matrix") {
  Graph g;
  check_product(whole(g, 33, 900), whole(g, 900, 1220), false, false);
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
