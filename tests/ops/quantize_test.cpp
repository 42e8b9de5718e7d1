#include "ops/math/quantize.hpp"

#include <doctest/doctest.h>

#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;

std::string run(const Value& value) {
  return test::Evaluator(value.graph()).run({value})[0].str();
}

TEST_CASE("quantize: halves to the even, saturation, and scales by channel") {
  Graph g;
  const Value x = g.constant(Tensor::of<float>({6}, {0, 1, 3, -5, 1000, -1000}));
  const Value two = g.constant(Tensor::of<float>({}, {2})), zero = g.constant(Tensor::of<std::uint8_t>({}, {128}));
  CHECK(run(quantize(x, two, zero, DType::uint8)) == "[128 128 130 126 255 0]");
  CHECK(run(quantize(x, two, {}, DType::int32)) == "[0 0 2 -2 500 -500]");
  const Value rows = g.constant(Tensor::of<float>({2, 2}, {10, 20, 10, 20}));
  const Value scales = g.constant(Tensor::of<float>({2, 1}, {5, 10}));
  CHECK(run(quantize(rows, scales, {}, DType::uint8)) == "[[2 4] [1 2]]");
  CHECK(error_of([&] {
          quantize(x, two, {}, DType::float32);
        }).starts_with("quantize: float32 is not a dtype of integers\n  at quantize_test.cpp:"));
}

TEST_CASE("dequantize") {
  Graph g;
  const Value q = g.constant(Tensor::of<std::uint8_t>({4}, {0, 3, 128, 255}));
  const Value scale = g.constant(Tensor::of<float>({}, {2})), zero = g.constant(Tensor::of<std::uint8_t>({}, {128}));
  CHECK(run(dequantize(q, scale, zero)) == "[-256 -250 0 254]");
  CHECK(run(dequantize(q, scale)) == "[0 6 256 510]");
}

TEST_CASE("dynamic_quantize takes in 0, and all zeros") {
  Graph g;
  const auto parts = [&](const Value& x) {
    const Quantized quantized = dynamic_quantize(x);
    return run(quantized.y) + " " + run(quantized.scale) + " " + run(quantized.zero);
  };
  CHECK(parts(g.constant(Tensor::of<float>({3}, {0, 127.5, 255}))) == "[0 128 255] 1 0");
  CHECK(parts(g.constant(Tensor::of<float>({3}, {-255, -1, -100}))) == "[0 254 155] 1 255");
  CHECK(parts(g.constant(Tensor::of<float>({2}, {0, 0}))).starts_with("[0 0] 0.00392"));
}

}  // namespace
}  // namespace ferry
