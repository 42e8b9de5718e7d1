// Kernel levels: on arrays that are longer than any vector register, all instruction sets give the same bits.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "kernels/kernel.hpp"
#include "ops/array/array.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

TEST_CASE("products of matrices have code for the processor, also where it is newer than OpenBLAS") {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  CHECK((cpu_kernels().level() == "x86-64" || cpu_kernels().library() != "openblas-Prescott"));
}

TEST_CASE_TEMPLATE("long rows have the same bits by any instruction set", T, float, double) {
  Graph g;
  const DType dtype = dtype_of<T>();
  const Value x = normal(g, {37, 333}, 0, 2, dtype);
  const Value y = uniform(g, {37, 333}, 0.1, 3, dtype);
  const Values all{x,
                   y,
                   x + y,
                   x * y,
                   x + sum(x, {0}),
                   x - sum(y, {1}, true),
                   x / y,
                   pow(y, x),
                   exp(x),
                   log(y),
                   tanh(x),
                   sigmoid(x),
                   erf(x),
                   sqrt(y),
                   rsqrt(y),
                   relu(x),
                   softmax(x),
                   log_softmax(x),
                   sum(x, {0}),
                   sum(x, {1}),
                   mean(x),
                   max(x, {1}),
                   argmax(x, 1),
                   select(less(x, y), x, y),
                   cast(x, DType::int32),
                   transpose(x, {1, 0})};
  std::vector<Tensor> baseline;
  for (const KernelTable& level : cpu_kernel_levels()) {
    CAPTURE(level.level());
    test::EvaluateOptions options;
    options.kernels = &level;
    for (const bool stream : {false, true}) {
      CAPTURE(stream);
      options.stream = stream;
      const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
      if (baseline.empty()) baseline = got;
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(got[i].same_bits(baseline[i]));
      }
    }
  }
}

TEST_CASE("softmax along rows and along columns has the same bits") {
  Graph g;
  const Value x = normal(g, {37, 333}, 0, 2);
  const Value along_columns = transpose(softmax(transpose(x, {1, 0}), 0), {1, 0});
  const std::vector<Tensor> got = test::Evaluator(g).run({softmax(x), along_columns});
  CHECK(got[0].same_bits(got[1]));
}

TEST_CASE("argmax finds the first of the largest, and the first NaN, of a long row") {
  std::vector<float> equal(200, 1), bad(200, 1);
  equal[130] = equal[150] = 2;
  bad[5] = 3;
  bad[170] = bad[190] = std::nanf("");
  Graph g;
  const Values all{argmax(g.constant(Tensor::of<float>({200}, equal))),
                   argmax(g.constant(Tensor::of<float>({200}, bad)))};
  for (const KernelTable& level : cpu_kernel_levels()) {
    CAPTURE(level.level());
    test::EvaluateOptions options;
    options.kernels = &level;
    const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
    CHECK(got[0].number(0) == 130);
    CHECK(got[1].number(0) == 170);
  }
}

TEST_CASE("levels are listed from the least to the highest, each with all kernels") {
  const auto levels = cpu_kernel_levels();
  CHECK(&cpu_kernels() == &levels.back());
  for (const KernelTable& level : levels) {
    CHECK(level.library() == levels.front().library());
    CHECK(level.find("Add") != nullptr);
    CHECK(level.find("ReadNpy") != nullptr);
  }
}

}  // namespace
}  // namespace ferry
