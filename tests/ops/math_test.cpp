#include "ops/math/math.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "ops/array/array.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/attention.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/norm.hpp"
#include "ops/op_set.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/regularize.hpp"
#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::error_of;

TEST_CASE("an operator has the line of its expression") {
  Graph g;
  const Value a = g.constant({1.0, 2.0});
  const int line = __LINE__ + 1;
  const Value c = -(a + 2) * a;
  CHECK(c.op().line().line == line);
  CHECK(g.value(c.op().inputs()[0]).op().line().line == line);
  CHECK(std::string(c.op().line().file).ends_with("math_test.cpp"));
}

TEST_CASE("values are ordered in the graph, and equality in C++ does not compile") {
  Graph g;
  const Value x = g.constant({1.0, 2.0}), y = g.constant({2.0, 1.0});
  CHECK((x < y).op().def().name == "Less");
  CHECK((x <= 1).op().def().name == "LessEqual");
  CHECK((1 > x).op().def().name == "Greater");
  const int line = __LINE__ + 1;
  const Value c = x >= y;
  CHECK(c.op().def().name == "GreaterEqual");
  CHECK(c.dtype() == DType::boolean);
  CHECK(c.op().line().line == line);

  constexpr auto compares = []<class A, class B>(const A& a, const B& b) {
    return requires {
      a == b;
    }
    || requires {
      a != b;
    };
  };
  CHECK_FALSE(compares(x, y));
  CHECK_FALSE(compares(x, 1));
  CHECK_FALSE(compares(1.0, x));
  CHECK_FALSE(std::is_constructible_v<Operand, bool>);
  CHECK(std::is_constructible_v<Operand, int>);
  CHECK(x.is(x));
  CHECK_FALSE(x.is(y));
}

TEST_CASE("a number takes the dtype of the other operand") {
  Graph g;
  const Value x = g.input("x", DType::float64, {3});
  CHECK((2 * x).type().str() == "float64[3]");
  CHECK((g.constant({1, 2}) - 1).type().str() == "int32[2]");
  const Value i = g.constant({1, 2});
  const int line = __LINE__ + 1;
  const std::string error = error_of([&] { i * 0.5; });
  CHECK(error == "the number 0.5 is not a value of int32\n  at math_test.cpp:" + std::to_string(line) +
                     "\n  try: cast the other operand, or make a constant");
  CHECK(error_of([&] { maximum(1, 2); }).starts_with("Maximum: both operands are numbers\n  at math_test.cpp:"));
}

TEST_CASE("an error in a function of several ops has the line of the function's caller") {
  Graph g;
  const Value i = g.constant({1, 2}), f = g.constant(1.0), heads = g.constant(Tensor(DType::int32, {1, 2, 3, 4}));
  const Value v = g.variable("v", g.constant({1.0, 2.0}));
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"gelu: the input 'constant' is int32; it takes floating-point values", [&] { gelu(i); }},
      {"leaky_relu: the input 'constant' is int32", [&] { leaky_relu(i); }},
      {"the number 2.5 is not a value of int32", [&] { clip(i, 0, 2.5); }},
      {"mean: axis 1 is out of range for constant_1 of rank 0", [&] { mean(f, {1}); }},
      {"log_sum_exp: the input 'constant' is int32", [&] { log_sum_exp(i); }},
      {"normalize: the input 'constant' is int32", [&] { normalize(i, {}); }},
      {"layer_norm: axis -1 is out of range for constant_1 of rank 0", [&] { layer_norm(f, f, f); }},
      {"rms_norm: axis -1 is out of range for constant_1 of rank 0", [&] { rms_norm(f, f); }},
      {"lp_normalize: axis -1 is out of range for constant_1 of rank 0", [&] { lp_normalize(f); }},
      {"batch_norm: the input 'constant_2' is int32", [&] { batch_norm(heads, i, i); }},
      {"batch_norm: the input 'constant_2' is int32", [&] { batch_norm(heads, i, i, i, i); }},
      {"mean: the input 'constant_2' is int32", [&] { nn::mean_pool(heads); }},
      {"attention: the input 'constant_2' is int32", [&] { attention(heads, heads, heads); }},
      {"linear_attention: the input 'constant_2' is int32", [&] { linear_attention(heads, heads, heads); }},
      {"dropout: the input 'constant' is int32", [&] { nn::dropout(i, 0.5, nn::Phase::train); }},
      {"assign: constant_1 (Constant) at math_test.cpp",
       [&] {
         return sgd({{f, f}}, 0.1);
       }},
      {"optimizer: the input 'constant' is int32",
       [&] {
         return momentum({{v, i}}, 0.1);
       }},
      {"weight_decay: the input 'constant' is int32",
       [&] {
         static_cast<void>(weight_decay({{v, i}}, 0.1));
       }},
      {"pullback: 1 values have 0 gradients", [&] { static_cast<void>(pullback({f}, {}, Values{f})); }},
  };
  for (const auto& [wanted, call] : cases) {
    const std::string error = error_of(call);
    CAPTURE(error);
    CHECK(error.starts_with(wanted));
    CHECK(error.find("\n  at math_test.cpp:") != std::string::npos);
    CHECK(error.find("ops/") == std::string::npos);
  }
}

TEST_CASE("an integer that is written is exact, as far as 64 bits reach") {
  Graph g;
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;  // not representable in float64
  const auto last = [](const Value& value) {
    return value.graph().constant_value(value.op().inputs().back())->integer(0);
  };
  const Value x = g.constant(Tensor::of<std::int64_t>({2}, {1, 2}));
  CHECK(last(x + kOdd) == kOdd);
  CHECK(last(x + -kOdd) == -kOdd);
  CHECK(last(x + std::numeric_limits<std::int64_t>::min()) == std::numeric_limits<std::int64_t>::min());
  CHECK(last(select(x < 1, x, kOdd)) == kOdd);
  const Value u = cast(x, DType::uint64);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  CHECK(static_cast<std::uint64_t>(last(u + kMost)) == kMost);
  CHECK(g.constant_value(g.constant(kOdd, DType::int64).id())->integer(0) == kOdd);
  CHECK(g.constant_value(g.constant(0x1p62, DType::int64).id())->integer(0) == std::int64_t{1} << 62);
  CHECK(error_of([&] { x + kMost; }).starts_with("the number 18446744073709551615 is not a value of int64\n"));
  CHECK(error_of([&] { u + -1; }).starts_with("the number -1 is not a value of uint64\n"));
  CHECK(error_of([&] { cast(x, DType::int8) + 128; }).starts_with("the number 128 is not a value of int8\n"));
  CHECK(error_of([&] { x + 0x1p60; }).find("\n  try: write it as an integer") != std::string::npos);
  CHECK(error_of([&] { g.constant(300, DType::uint8); }).starts_with("the number 300 is not a value of uint8\n"));
  const auto pad_error = [&](const Value& value) { return error_of([&] { pad(value, {0}, {1}, kOdd); }); };
  CHECK(pad_error(x).starts_with("Pad: the number 9007199254740993 has more bits than a float64\n"));
  CHECK(pad_error(x).ends_with("try: join constants to the array by concat() instead"));
  CHECK(pad_error(cast(x, DType::float64)).ends_with("try: write it as a floating-point number, with a decimal point"));
}

TEST_CASE("operands are broadcast, and what does not fit is said on the caller's line") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 3});
  CHECK((x + g.constant({1.0, 2.0, 3.0})).shape().str() == "[batch,3]");
  CHECK((x * g.input("col", DType::float32, {4, 1, 1})).shape().str() == "[4,batch,3]");
  const int made = __LINE__ + 1;
  const Value y = g.constant({1.0, 2.0});
  const std::string text = error_of([&] { x + y; });  // not in CHECK: compilers disagree on the line inside a macro
  CHECK(text == "Add: sizes do not broadcast: 3 and 2\n  input 0: float32[batch,3] x (Input) at math_test.cpp:" +
                    std::to_string(made - 5 + 1) + "\n  input 1: float32[2] constant_1 (Constant) at math_test.cpp:" +
                    std::to_string(made) + "\n  at math_test.cpp:" + std::to_string(made + 1));
}

TEST_CASE("dtypes must be allowed, and are made equal") {
  Graph g;
  const Value f = g.constant({1.0});
  const Value i = g.constant({1});
  CHECK((f + i).dtype() == DType::float64);
  CHECK((f + i).op().inputs()[0] != f.id());
  CHECK(select(less(f, i), i, f).dtype() == DType::float64);
  CHECK(error_of([&] { exp(i); }).starts_with("Exp: input 0 is int32; it takes float16, bfloat16, float32, float64\n"));
  CHECK(error_of([&] { Value() + f; }).starts_with("an undefined value is used\n  at math_test.cpp:"));
  CHECK(cast(i, DType::float32).dtype() == DType::float32);
  CHECK(cast(f, DType::float32).is(f));
}

TEST_CASE("select broadcasts its condition") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 3});
  CHECK(select(greater(x, 0), x, 0).type().str() == "float32[2,3]");
  CHECK(less(x, 1).type().str() == "bool[2,3]");
}

TEST_CASE("matmul") {
  Graph g;
  const Value a = g.input("a", DType::float32, {"batch", 4, 5});
  const Value w = g.input("w", DType::float32, {5, 6});
  CHECK(matmul(a, w).shape().str() == "[batch,4,6]");
  CHECK(test::notation(matmul(a, w)) == "...mk,...kn->...mn");
  CHECK(test::notation(matmul(w, w, true)) == "...km,...kn->...mn");
  CHECK(test::notation(matmul(w, w, false, true)) == "...mk,...nk->...mn");
  CHECK(error_of([&] { matmul(w, w); }).starts_with("MatMul: sizes differ: k is 6 and 5\n  input 0: float32[5,6] w"));
  CHECK(error_of([&] { matmul(w, g.constant(1.0)); }).starts_with("MatMul: input 1 has rank 0, expected at least 2\n"));
  CHECK(matmul(a, g.constant({1.0, 2.0, 3.0, 4.0, 5.0})).shape().str() == "[batch,4]");
  CHECK(error_of([&] { matmul(w, g.constant({1.0})); }).starts_with("MatMul: sizes differ: k is 6 and 1\n"));
}

TEST_CASE("every op has a gradient or says why not") {
  for (const OpDef* def : default_ops().all()) {
    CAPTURE(def->name);
    CHECK((def->grad != nullptr) != !def->no_grad.empty());
    CHECK(default_ops().find(def->name) == def);
  }
}

}  // namespace
}  // namespace ferry
