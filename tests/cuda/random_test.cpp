// Random numbers on CUDA devices: the bits of the CPU's kernels.
#include <doctest/doctest.h>

#include "tests/cuda/both.hpp"

namespace ferry::test {
namespace {

KernelCall normal(Part output) {
  return {"RandomNormal", {{"mean", 0.5}, {"seed", std::int64_t{3}}, {"stddev", 2.0}}, {}, std::move(output)};
}
KernelCall uniform(Part output) {
  return {"RandomUniform", {{"high", 3.0}, {"low", -1.0}, {"seed", std::int64_t{4}}}, {}, std::move(output)};
}

}  // namespace

TEST_CASE("numbers are those that the CPU draws") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    CAPTURE(name_of(dtype));
    for (const std::vector<std::int64_t>& sizes :
         std::vector<std::vector<std::int64_t>>{{}, {1}, {4}, {7}, {1'001}, {3, 5, 64}, {0, 4}}) {
      CHECK(same_on_both(normal({Tensor(dtype, sizes)})));
      CHECK(same_on_both(uniform({Tensor(dtype, sizes)})));
    }
    CHECK(same_on_both({"RandomUniformLike",
                        {{"high", 1.0}, {"low", 0.0}, {"seed", std::int64_t{5}}},
                        {{Tensor(DType::int16, {33, 3})}},
                        {Tensor(dtype, {33, 3})}}));
  }
}

TEST_CASE("parts of a value are drawn as in the whole") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
    CHECK(same_on_both(normal({Tensor(dtype, {3, 5, 11}), {9, 10, 11}, {4, 3, 0}})));
    CHECK(same_on_both(normal({Tensor(dtype, {3, 10, 1}), {9, 10, 11}, {4, 0, 6}})));
    CHECK(same_on_both(uniform({Tensor(dtype, {2, 10, 7}), {9, 10, 11}, {7, 0, 4}})));
    CHECK(same_on_both(uniform({Tensor(dtype, {64, 128}), {200, 512}, {16, 256}})));
  }
}

TEST_CASE("each step and iteration draws anew") {
  KernelCall call = normal({Tensor(DType::float32, {10})});
  const Tensor first = run_kernel(cuda_kernels(), call);
  call.step = 7;
  CHECK(same_on_both(call));
  CHECK_FALSE(run_kernel(cuda_kernels(), call).same_bits(first));
  call.iterations = {3, 0};
  CHECK(same_on_both(call));
}

TEST_CASE("rows are shuffled as the CPU does") {
  for (const std::int64_t rows : {0, 1, 2, 3, 5, 64, 1'000, 1'024, 1'025, 5'000})
    for (std::int64_t step = 0; step < (rows < 100 ? 20 : 2); ++step) {
      CAPTURE(rows);
      CHECK(same_on_both({"Shuffle",
                          {{"seed", std::int64_t{6}}},
                          {{some_numbers(DType::float32, {rows, 3})}},
                          {Tensor(DType::float32, {rows, 3})},
                          step}));
    }
}

}  // namespace ferry::test
