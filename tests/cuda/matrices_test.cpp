// Determinants and regions of images on CUDA devices: they give the CPU's bits.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/cuda/given.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

/// Whole numbers from -4 to 4, so that some pivots are zero and some equal.
template <class T>
void fill_small(Operand& operand, Dice& dice) {
  for (std::int64_t i = 0; i < checked_count(operand.sizes); ++i)
    operand.array().as<T>()[i] = static_cast<T>(dice.below(9) - 4);
}

template <class T>
void check_matrices(std::int64_t matrices, std::int64_t n, T planted) {
  constexpr DType kType = dtype_of<T>();
  Dice dice(static_cast<std::uint64_t>(n));
  Given det = unary("Det", {}, {kType, {matrices, n, n}}, {kType, {matrices}});
  Given cofactors = unary("Cofactors", {}, {kType, {matrices, n, n}}, {kType, {matrices, n, n}});
  for (Given* given : {&det, &cofactors}) {
    fill_small<T>(given->in[0], dice);
    for (std::int64_t m = 0; n > 0 && m < matrices; m += 3)
      given->in[0].array().as<T>()[m * n * n + dice.below(n * n)] = planted;
    if (given == &det || n * matrices < 30) check_filled(*given, dice);
  }
}

/// Regions of 3 images of 2 channels.
template <class T>
Given regions_of(bool half_pixel, bool largest, Dice& dice) {
  constexpr DType kType = dtype_of<T>();
  Given given = unary("RoiAlign",
                      {{"columns", std::int64_t{4}},
                       {"half_pixel", half_pixel},
                       {"largest", largest},
                       {"rows", std::int64_t{3}},
                       {"scale", 0.5}},
                      {kType, {3, 2, 17, 40}}, {kType, {50, 2, 3, 4}});
  Operand &regions = given.in.emplace_back(kType, Ints{50, 4}), &x = given.in[0];
  fill_small<T>(x, dice);
  for (std::int64_t i = 0; i < 200; ++i)
    given.in[1].array().as<T>()[i] = static_cast<T>(dice.below(100) - 10) / static_cast<T>(3);
  regions.array().as<T>()[41] = std::numeric_limits<T>::infinity();
  Operand& images = given.in.emplace_back(DType::int64, Ints{50});
  for (std::int64_t r = 0; r < 50; ++r) images.array().as<std::int64_t>()[r] = dice.below(3);
  return given;
}

}  // namespace

TEST_CASE("determinants and cofactors of small and large matrices" * doctest::test_suite("large")) {
  for (const std::int64_t n : {0, 1, 2, 3, 5, 40}) {
    check_matrices<float>(5, n, 2.5F);
    check_matrices<double>(3, n, -0.25);
    check_matrices<float>(3, n, std::numeric_limits<float>::infinity());
  }
  check_matrices<float>(1100, 2, std::numeric_limits<float>::quiet_NaN());  // more than work at once
}

TEST_CASE("regions of images, and an image that is none is refused") {
  Dice dice(6);
  for (const bool half_pixel : {true, false})
    for (const bool largest : {true, false}) {
      Given floats = regions_of<float>(half_pixel, largest, dice),
            doubles = regions_of<double>(half_pixel, largest, dice);
      check_filled(floats, dice);
      check_filled(doubles, dice);
    }
  for (const std::int64_t image : {-1, 3}) {
    Given given = regions_of<float>(true, true, dice);
    given.in[2].array().as<std::int64_t>()[7] = image;
    Given same = given;
    const Error wanted = error_of([&] { given.run(cpu_kernels()); });
    CHECK(says(wanted, "of region 7 is out of range for 3 images"));
    CHECK(error_of([&] { same.run(cuda_kernels()); }).text() == wanted.text());
  }
}

}  // namespace ferry::test
