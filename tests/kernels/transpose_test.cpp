// Transposes of matrices too large for the caches, which write whole cache lines around the caches.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "ops/array/array.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

template <class T>
void check_transpose(std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
  std::vector<T> from(static_cast<std::size_t>(matrices * rows * columns)), to(from.size());
  std::iota(from.begin(), from.end(), T(0));
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) to[(m * columns + c) * rows + r] = from[(m * rows + r) * columns + c];
  Graph g;
  const Value y = transpose(g.constant(Tensor::of<T>({matrices, rows, columns}, from)), {0, 2, 1});
  const Tensor expected = Tensor::of<T>({matrices, columns, rows}, to);
  for (int threads : {1, 3}) {
    test::Threads parallel(threads);
    test::EvaluateOptions options;
    options.parallel = &parallel;
    CHECK(test::Evaluator(g, options).run({y})[0].same_bits(expected));
  }
}

TEST_CASE("large matrices are transposed") {
  check_transpose<std::int32_t>(3, 1040, 690);
  check_transpose<double>(1, 1032, 1030);
  check_transpose<float>(1, 1501, 1400);  // rows that do not end at cache lines
}

}  // namespace
}  // namespace ferry
