// Tests what counts as equal in conformance cases.
#include "runner/command/tensor_difference.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace ferry;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string difference_of(float result, float expected) {
  return difference(Tensor::scalar(result), Tensor::scalar(expected), Tolerance());
}

}  // namespace

TEST_CASE("floating-point results may lie within the tolerance") {
  CHECK(difference_of(1.0009F, 1.0F).empty());
  CHECK(difference_of(1.0012F, 1.0F) == "element 0 is 1.001200, not 1.000000");
  CHECK(difference_of(9e-7F, 0.0F).empty());
  CHECK_FALSE(difference_of(2e-6F, 0.0F).empty());
  CHECK(difference(Tensor::scalar(1.5F), Tensor::scalar(1.0F), {.rtol = 0.5, .atol = 0}).empty());
}

TEST_CASE("NaN is equal to NaN alone, an infinity to itself") {
  CHECK(difference_of(kNaN, kNaN).empty());
  CHECK_FALSE(difference_of(kNaN, 1.0F).empty());
  CHECK_FALSE(difference_of(1.0F, kNaN).empty());
  CHECK(difference_of(kInfinity, kInfinity).empty());
  CHECK_FALSE(difference_of(-kInfinity, kInfinity).empty());
  CHECK_FALSE(difference_of(1e30F, kInfinity).empty());
}

TEST_CASE("integers, dtypes and shapes must be equal") {
  const auto of = [](std::int64_t number) { return Tensor::scalar(number); };
  CHECK(difference(of(10'000'000), of(10'000'000), Tolerance()).empty());
  CHECK(difference(of(10'000'000), of(10'000'001), Tolerance()) == "element 0 is 10000000, not 10000001");
  CHECK(difference(of(1), Tensor::scalar(1.0F), Tolerance()) == "it is int64[], not float32[]");
  CHECK(difference(Tensor::of<float>({1}, {1}), Tensor::scalar(1.0F), Tolerance()) ==
        "it is float32[1], not float32[]");
}
