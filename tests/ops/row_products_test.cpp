// The gradient of a matrix that multiplies several values of few rows: one product over the rows of all.
#include <doctest/doctest.h>

#include <cmath>

#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/pipeline.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::some;

/// The ops of that kind that the value needs, itself included.
int count(const Value& value, std::string_view kind) {
  std::vector<bool> needed(value.graph().size());
  needed[value.op().id()] = true;
  int found = 0;
  for (OpId id = value.op().id() + 1; id > 0; --id) {
    if (!needed[id - 1]) continue;
    const Op op = value.graph().op(id - 1);
    found += op.def().name == kind;
    for (const ValueId input : op.inputs()) needed[value.graph().producer(input)] = true;
  }
  return found;
}

/// x times the matrix again and again, with tanh between.
Value chained(Value x, const Value& w, int times, bool transposed) {
  for (int i = 0; i < times; ++i) x = tanh(matmul(x, w, false, transposed));
  return sum(square(x));
}

TEST_CASE("products of few rows by one matrix: its gradient is one product, by finite differences") {
  for (const bool transposed : {false, true})
    for (const Ints& rows : {Ints{3}, Ints{1, 2}}) {
      CAPTURE(transposed);
      Graph g;
      Ints sizes = rows;
      sizes.push_back(8);
      const Tensor start = some({8, 8}, 0.3);
      const Value w = g.input("w", DType::float64, {8, 8});
      const Value loss = chained(g.constant(some(sizes)), w, 3, transposed);
      const Value d = gradients(loss, {w})[0];
      CHECK(count(d, "MatMulOverRows") == 1);
      test::Evaluator evaluator(g);
      const Tensor got = evaluator.run({d}, {{"w", start}})[0];
      const auto loss_at = [&](std::int64_t k, double change) {
        Tensor moved = Tensor::of<double>(start.sizes(), start.data<double>());
        moved.mutable_data<double>()[k] += change;
        return evaluator.run({loss}, {{"w", moved}})[0].number(0);
      };
      for (std::int64_t k = 0; k < 64; ++k)
        CHECK(got.number(k) == doctest::Approx((loss_at(k, 1e-5) - loss_at(k, -1e-5)) / 2e-5).epsilon(1e-6).scale(1));
    }
}

TEST_CASE("other uses of the matrix, and products on another device, are added to it") {
  Graph g;
  const Value w = g.input("w", DType::float64, {8, 8}), x = g.constant(some({2, 8}));
  const Value far = chained(x, w, 2, false);
  Value there;
  {
    const Scope device = g.device("/task:1");
    there = chained(x, w, 2, false);
  }
  const Value d = gradients(far + there + sum(square(w)), {w})[0];
  CHECK(count(d, "MatMulOverRows") == 2);
  const Values parts = gradients(far, {w});
  const Values others = gradients(there + sum(square(w)), {w});
  const std::vector<Tensor> got = test::Evaluator(g).run({d, parts[0] + others[0]}, {{"w", some({8, 8}, 0.3)}});
  for (std::int64_t k = 0; k < 64; ++k) CHECK(got[0].number(k) == doctest::Approx(got[1].number(k)));
}

TEST_CASE("a product by the matrix that no gradient reaches is no reason to join") {
  Graph g;
  const Value w = g.input("w", DType::float32, {8, 8}), x = g.input("x", DType::float32, {2, 8});
  const Value aside = matmul(x, w);
  const Value y = matmul(x, w) + 1;
  const Value d = gradients(sum(square(y)), {w})[0];
  CHECK(test::call(d).starts_with("MatMul(x, "));
  CHECK(aside.defined());
}

TEST_CASE("products of many rows, of rows that are not known, and different ones are not joined") {
  Graph g;
  const Value w = g.input("w", DType::float32, {8, 8});
  const auto joined = [&](const Value& loss) { return count(gradients(loss, {w})[0], "MatMulOverRows"); };
  CHECK(joined(chained(g.input("few", DType::float32, {3, 8}), w, 2, false)) == 1);
  CHECK(joined(chained(g.input("many", DType::float32, {4, 8}), w, 2, false)) == 0);
  CHECK(joined(chained(g.input("open", DType::float32, {"n", 8}), w, 2, false)) == 0);
  const Value one = g.input("one", DType::float32, {1, 8}), two = g.input("two", DType::float32, {2, 8});
  CHECK(joined(chained(one, w, 1, false) + chained(two, w, 1, false)) == 0);
  CHECK(joined(chained(one, w, 1, false) + chained(one, w, 1, true)) == 0);
}

TEST_CASE("what is computed again, and what microbatches do, is not joined") {
  Graph g;
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 8}))), x = g.input("x", DType::float32, {2, 8});
  Value again;
  {
    const Scope remade = g.remade();
    again = chained(x, w, 2, false);
  }
  CHECK(count(gradients(again, {w})[0], "MatMulOverRows") == 0);
  const Value loss = pipeline(chained(x, w, 2, false), {.microbatches = 2});
  CHECK(count(gradients(loss, {w})[0], "MatMulOverRows") == 0);
}

}  // namespace
}  // namespace ferry
