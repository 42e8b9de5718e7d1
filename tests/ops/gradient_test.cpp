#include "ops/gradient/gradient.hpp"

#include <doctest/doctest.h>

#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::call;
using test::error_of;

TEST_CASE("the gradient of a linear model") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 4});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {4, 2})));
  const Value b = g.variable("b", g.constant(Tensor(DType::float32, {2})));
  const int line = __LINE__ + 1;
  const Value y = matmul(x, w).named("y") + b;
  const Value loss = mean(square(y)).named("loss");
  const Values d = gradients(loss, {w, b});
  CHECK(d[0].type() == w.type());
  CHECK(d[1].type() == b.type());
  CHECK(call(d[0]) == "MatMul(x, grad/mul_2)");
  CHECK(test::notation(d[0]) == "...km,...kn->...mn");
  CHECK(call(d[1]) == "Sum(grad/mul_2)");
  CHECK(d[0].op().line().line == line);
  CHECK(d[1].op().line().line == line);
}

TEST_CASE("the gradient of a matrix that multiplies many is one product over all rows") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 3, 4});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {4, 5})));
  const Value v = g.variable("v", g.constant(Tensor(DType::float32, {5, 4})));
  const Value y = matmul(x, w).named("y"), z = matmul(x, v, false, true).named("z");
  const Values d = gradients(sum(square(y)) + sum(square(z)), {w, v});
  CHECK(d[0].type() == w.type());
  CHECK(d[1].type() == v.type());
  CHECK(call(d[0]).starts_with("MatMulOverRows(x, "));
  CHECK(call(d[1]).starts_with("MatMulOverRows(grad/"));
}

TEST_CASE("a gradient is summed back to the shape that was broadcast") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3, 1});
  const Value y = g.input("y", DType::float32, {2, 3, 4});
  const Value d = gradients(sum(x * y), {x})[0];
  CHECK(d.type() == x.type());
  const Value n = g.input("n", DType::float32, {"n"});
  const Value m = g.input("m", DType::float32, {"m"});
  CHECK(call(gradients(sum(n * m), {n})[0]) == "SumLike(grad/mul_1, n)");
}

TEST_CASE("contributions add up") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  CHECK(call(gradients(sum(x * x), {x})[0]).starts_with("Add("));
}

TEST_CASE("gradients stay on the device of their op") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  Value y;
  {
    auto there = g.device("/task:1");
    y = exp(x);
  }
  auto here = g.device("/task:2");
  const Value d = gradients(sum(y), {x})[0];
  CHECK(call(d).starts_with("Mul("));
  CHECK(d.op().annotation().device.str() == "/task:1");
}

TEST_CASE("an op without a gradient is named with its line, unless nothing flows there") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const int line = __LINE__ + 1;
  const Value y = sign(x).named("jumps");
  CHECK(error_of([&] { static_cast<void>(gradients(sum(y * x), {x})); }) ==
        "gradients: jumps (Sign) at gradient_test.cpp:" + std::to_string(line) +
            " has no gradient: it is constant between jumps\n  try: use stop_gradient where nothing should flow");
  CHECK(call(gradients(sum(stop_gradient(y) * x), {x})[0]).starts_with("Mul("));
  CHECK(call(gradients(sum(cast(greater(x, 0), DType::float32) * x), {x})[0]).starts_with("Mul("));
}

TEST_CASE("a loss must be floating-point and depend on what is asked for") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value z = g.input("z", DType::float32, {3});
  const Value loss = sum(x).named("loss");
  CHECK(error_of([&] {
          static_cast<void>(gradients(loss, {x, z}));
        }).starts_with("gradients: the loss 'loss' does not depend on z (Input) at gradient_test.cpp:"));
  CHECK(error_of([&] {
          static_cast<void>(gradients(argmax(x), {x}));
        }).starts_with("gradients: the loss 'argmax' is int64[]\n  at gradient_test.cpp:"));
}

}  // namespace
}  // namespace ferry
