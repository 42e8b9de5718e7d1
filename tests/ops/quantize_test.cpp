#include "ops/math/quantize.hpp"

#include <doctest/doctest.h>

#include "ops/image/windows.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
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
  const Value far = g.constant(Tensor::of<std::int32_t>({}, {-2147483216}));
  CHECK(run(quantize(g.constant(40.0F), g.constant(1.0F), far, DType::int32)) == "-2147483176");
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

TEST_CASE("numbers, scales and zero points of other kinds are refused, each with the caller's line") {
  Graph g;
  const Value x = g.constant(Tensor(DType::float32, {2, 3})), bytes = g.constant(Tensor(DType::uint8, {2, 3}));
  const Value scale = g.constant(2.0F), zero = g.constant(Tensor(DType::int8, Ints{}));
  const auto said = [](const std::function<void()>& f, std::string_view wanted) {
    const std::string text = error_of(f);
    CAPTURE(text);
    CHECK(text.find(wanted) != std::string::npos);
    CHECK(text.find("at quantize_test.cpp:") != std::string::npos);
  };
  said([&] { quantize(x, scale, zero, DType::uint8); }, "must be uint8 like the quantized numbers, not int8");
  said([&] { quantize(x, bytes, {}, DType::uint8); }, "must be floating-point, not uint8");
  said([&] { quantize(bytes, scale, {}, DType::uint8); }, "must be floating-point, not uint8");
  said([&] { dequantize(bytes, zero); }, "must be floating-point, not int8");
  said([&] { dequantize(x, scale); }, "must have integers, not float32");
  said([&] { dequantize(bytes, scale, zero); }, "must be uint8 like the quantized numbers, not int8");
  said([&] { dynamic_quantize(bytes); }, "must be floating-point, not uint8");
}

TEST_CASE("products of bytes in three dims wrap around, and refuse what those in two dims refuse") {
  Graph g;
  const auto all = [&](const Ints& sizes) { return broadcast_to(cast(g.constant(255.0), DType::uint8), sizes); };
  const Value x = all({1, 4200, 2, 2, 2}), w = all({1, 4200, 2, 2, 2});
  CHECK(run(conv_integer(x, w)) == "[[[[[-2110127296]]]]]");
  CHECK(run(conv_integer(all({1, 8400, 2, 2}), all({1, 8400, 2, 2}))) == "[[[[-2110127296]]]]");
  const auto refused = [&](const Ints& image, const Ints& filter, const Value& x_zero, const Value& w_zero) {
    return !error_of([&] { conv_integer(all(image), all(filter), x_zero, w_zero); }).empty();
  };
  for (const auto& sizes : {std::pair<Ints, Ints>{{1, 2, 3, 3}, {2, 2, 2, 2}}, {{1, 2, 3, 3, 3}, {2, 2, 2, 2, 2}}}) {
    const Ints &image = sizes.first, &filter = sizes.second;
    CHECK(refused(image, filter, all({2}), {}));
    CHECK(refused(image, filter, {}, all({3})));
    CHECK(refused(image, filter, {}, all({2, 1})));
    CHECK(refused(image, filter, g.constant(Tensor(DType::int8, Ints{})), {}));
    CHECK(!refused(image, filter, all({}), all({2})));
    CHECK(!error_of([&] { conv_integer(cast(all(image), DType::int16), all(filter)); }).empty());
  }
}

}  // namespace
}  // namespace ferry
