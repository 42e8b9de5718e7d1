// The pass that fuses elementwise ops into the product before them, to run on its pieces: the fused ops, the ops left
// alone, and the places of a concat's inputs.
#include "placement/fuse/fuse_epilogues.hpp"

#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/verified_plans.hpp"

namespace ferry {
namespace {

using test::kernels_of, test::lines_with, test::verified;

struct Dense {
  Graph g;
  Value x = g.input("x", DType::float32, {300, 400}), w = g.input("w", DType::float32, {400, 400});
  Value bias = g.input("bias", DType::float32, {400});
};

TEST_CASE("a chain behind a product becomes one instruction that works on its last value alone") {
  Dense d;
  const auto here = d.g.line({"model.cpp", 7});
  const Plan plan = verified(d.g, {((matmul(d.x, d.w) + d.bias) * 2.0).named("z")});
  CHECK(kernels_of(plan) == "MatMul+Add+Mul");
  CHECK(lines_with(plan, "MatMul+Add+Mul") ==
        "    3 MatMul+Add+Mul z (%0, %1, %2, %5) region 2 by pieces -> %6  at model.cpp:7\n");
  CHECK(kernels_of(plan, 2) == "MatMul, Add, Mul");
  CHECK(lines_with(plan, "-> %6").find("Add add (%6, %2) -> %6") != std::string::npos);
  CHECK(plan.classes[0].devices[0].step_bytes == (300 * 400 + 400 * 400 + 300 * 400) * 4 + 1600);
}

TEST_CASE("nothing is joined where that is 0, and little is not worth it") {
  Dense d;
  CHECK(kernels_of(verified(d.g, {matmul(d.x, d.w) + d.bias}, {}, 1, 0)) == "MatMul, Add");
  const Value few = d.g.input("few", DType::float32, {2, 400});
  CHECK(kernels_of(verified(d.g, {matmul(few, d.w) + d.bias})) == "MatMul, Add");
}

TEST_CASE("a product that others need too keeps its value, and a view of it is no link") {
  Dense d;
  const Value product = matmul(d.x, d.w);
  CHECK(kernels_of(verified(d.g, {product + d.bias, product})) == "MatMul, Add");
  CHECK(kernels_of(verified(d.g, {reshape(product, {-1}) * 2.0})) == "MatMul, Mul");
  CHECK(kernels_of(verified(d.g, {product * product})) == "MatMul, Mul");
}

TEST_CASE("an op that may not work in place ends the chain") {
  Dense d;
  CHECK(kernels_of(verified(d.g, {maximum(matmul(d.x, d.w) + d.bias, 0.0)})) == "MatMul+Add, Maximum");
}

TEST_CASE("what is added is there before the product, or the product waits for it") {
  Dense d;
  SUBCASE("the sum may come earlier") {
    const Value product = matmul(d.x, d.w);
    const Value other = exp(d.bias);
    CHECK(kernels_of(verified(d.g, {product + d.x, other})) == "MatMul+Add, Exp");
  }
  SUBCASE("the product may come later") {
    const Value product = matmul(d.x, d.w);
    const Value other = exp(d.x);
    CHECK(kernels_of(verified(d.g, {product + other})) == "Exp, MatMul+Add");
  }
  SUBCASE("both are products: the second goes on with the first") {
    const Value a = matmul(d.x, d.w), b = matmul(exp(d.x), d.w);
    CHECK(kernels_of(verified(d.g, {a + d.bias + (b + d.bias)})) == "Exp, MatMul+Add, MatMul+Add+Add");
  }
}

TEST_CASE("a variable that its own update reads is not written early") {
  Graph g;
  const Value x = g.input("x", DType::float32, {64, 300}), y = g.input("y", DType::float32, {64, 200});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {300, 200})));
  const Value step = matmul(x, y, true) * 0.1;
  CHECK(kernels_of(verified(g, {}, {assign(w, w - step)})) == "MatMul+Mul, Sub");
}

TEST_CASE("messages start no later") {
  Graph g;
  const Value x = g.constant(Tensor(DType::float32, {300, 300}), on("/task:0"));
  Value product, sent, there, kept;
  {
    const auto here = g.device("/task:0");
    product = matmul(x, x);
    sent = exp(x);
  }
  {
    const auto other = g.device("/task:1");
    there = sent - 1.0;
  }
  {
    const auto here = g.device("/task:0");
    kept = product + sent;
  }
  CHECK(kernels_of(verified(g, {there, kept}, {}, 2)).find('+') == std::string::npos);
}

TEST_CASE("joined values lie side by side, and nothing is done to join them") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1, 30, 10}), y = g.input("y", DType::float32, {1, 20, 10});
  const Value a = exp(x), b = exp(y), all = concat(Values{a, b}, 1).named("all");
  const Plan plan = verified(g, {all * 2.0, a});
  CHECK(kernels_of(plan) == "Exp, Exp, Mul");
  CHECK(lines_with(plan, "from byte") ==
        "  %2 exp float32[1,30,10] in %4 from byte 0\n  %3 exp_1 float32[1,20,10] in %4 from byte 1200\n");
  CHECK(kernels_of(verified(g, {concat(Values{x, b}, 1)})) == "Exp, Concat");
  CHECK(kernels_of(verified(g, {concat(Values{a, a}, 1)})) == "Exp, Concat");
  CHECK(kernels_of(verified(g, {concat(Values{a, exp(a)}, 2)})) == "Exp, Exp, Concat");
  const Value twice = concat(Values{all, exp(all)}, 0);
  CHECK(kernels_of(verified(g, {concat(Values{reshape(a, {1, 300}), exp(reshape(a, {1, 300}))}, 1)})) ==
        "Exp, Exp, Concat");
  CHECK(kernels_of(verified(g, {twice})) == "Exp, Exp, Exp, Concat");
}

TEST_CASE("the bytes of joined values are not taken by a kernel that reads a part of them at all places") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1}), y = g.input("y", DType::float32, {1});
  const Value a = exp(x), all = concat(Values{a, exp(y)}, 0);
  for (const std::int64_t fuse_from : {0, 1}) {
    const Plan plan = verified(g, {exp(all - a)}, {}, 1, fuse_from);
    CHECK(lines_with(plan, "from byte").find("exp float32[1] in") != std::string::npos);
  }
}

}  // namespace
}  // namespace ferry
