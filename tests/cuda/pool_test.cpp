// Pooling on CUDA devices: the bits of the CPU's kernels, also of parts of images.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/cuda/both.hpp"

namespace ferry::test {
namespace {

using Sizes = std::vector<std::int64_t>;

struct PoolCase {
  Ints size, strides, padding;  // of all four sides

  [[nodiscard]] Attrs attrs() const { return {{"padding", padding}, {"size", size}, {"strides", strides}}; }
  [[nodiscard]] std::int64_t outputs(std::size_t side, std::int64_t image) const {
    return (image + padding[side] + padding[side + 2] - size[side]) / strides[side] + 1;
  }
  [[nodiscard]] Sizes outputs(const Sizes& image) const {
    return {image[0], image[1], outputs(0, image[2]), outputs(1, image[3])};
  }
};

const std::vector<PoolCase> kCases{{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {{3, 3}, {2, 2}, {1, 1, 1, 1}},
                                   {{2, 3}, {1, 2}, {1, 0, 1, 2}}, {{5, 4}, {3, 1}, {4, 3, 2, 1}},
                                   {{1, 1}, {2, 3}, {0, 0, 0, 0}}, {{12, 17}, {1, 1}, {0, 0, 0, 0}},
                                   {{2, 2}, {3, 4}, {0, 1, 1, 0}}};

/// Numbers with equal ones, -inf and NaN among them.
Tensor image_of(DType dtype, const Sizes& sizes) {
  Tensor image = some_numbers(dtype, sizes, 5);
  Dice dice(6);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || sizeof(T) == 2)
      for (T& pixel : image.mutable_data<T>()) {
        const double number = std::round(static_cast<double>(pixel));
        const bool low = dice.below(4) != 0;
        pixel = static_cast<T>(dice.one_in(40) ? std::numeric_limits<double>::quiet_NaN() : low ? -INFINITY : number);
      }
  });
  return image;
}

/// The five ops on images [sizes], or parts of them.
bool all_same(const PoolCase& which, DType dtype, const Sizes& sizes) {
  const Sizes pooled = which.outputs(sizes);
  const Attrs attrs = which.attrs();
  const Tensor x = image_of(dtype, sizes), plain = some_numbers(dtype, sizes, 7), dy = some_numbers(dtype, pooled, 8);
  bool same = true;
  for (const Tensor& image : {x, plain}) {
    same = same_on_both({"MaxPool2D", attrs, {{image}}, {Tensor(dtype, pooled)}}) && same;
    same = same_on_both({"MaxPool2DPick", attrs, {{plain}, {image}}, {Tensor(dtype, pooled)}}) && same;
    same = same_on_both({"MaxPool2DGrad", attrs, {{dy}, {image}}, {Tensor(dtype, sizes)}}) && same;
    same = same_on_both({"AvgPool2D", attrs, {{image}}, {Tensor(dtype, pooled)}}) && same;
  }
  return same_on_both({"AvgPool2DGrad", attrs, {{dy}, {plain}}, {Tensor(dtype, sizes)}}) && same;
}

/// Part [begin, end) of each dim of a value of these sizes.
struct Cut {
  Sizes begin, end;
  [[nodiscard]] Part of(DType dtype, const Sizes& whole, std::uint64_t seed) const {
    Sizes sizes;
    for (std::size_t d = 0; d < begin.size(); ++d) sizes.push_back(end[d] - begin[d]);
    return {some_numbers(dtype, sizes, seed), whole, begin};
  }
};

/// The windows [begin, end) along one side, as a part of images, and the elements under them.
Cut under(const PoolCase& which, const Sizes& sizes, const Cut& windows) {
  Cut cut = windows;
  for (const std::size_t side : {0, 1}) {
    const std::size_t d = side + 2;
    const std::int64_t first = windows.begin[d] * which.strides[side] - which.padding[side];
    const std::int64_t last = (windows.end[d] - 1) * which.strides[side] - which.padding[side] + which.size[side];
    cut.begin[d] = std::max<std::int64_t>(first, 0);
    cut.end[d] = std::min(last, sizes[d]);
  }
  return cut;
}

/// The windows that have an element of a part of the images.
Cut over(const PoolCase& which, const Sizes& pooled, const Cut& image) {
  Cut cut = image;
  for (const std::size_t side : {0, 1}) {
    const std::size_t d = side + 2;
    const std::int64_t stride = which.strides[side], padded = image.begin[d] + which.padding[side];
    cut.begin[d] = std::max<std::int64_t>(0, (padded - which.size[side] + stride) / stride);
    cut.end[d] = std::min(pooled[d], (image.end[d] - 1 + which.padding[side]) / stride + 1);
  }
  return cut;
}

}  // namespace

TEST_CASE("windows are pooled as the CPU does") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      CAPTURE(name_of(dtype));
      CAPTURE(i);
      CHECK(all_same(kCases[i], dtype, {2, 3, 20, 23}));
    }
  CHECK(all_same(kCases[1], DType::float32, {1, 2, 9, 700}));
  CHECK(all_same(kCases[0], DType::float32, {0, 2, 4, 4}));
}

TEST_CASE("parts of images are pooled as the CPU does") {
  const Sizes sizes = {2, 2, 30, 40};
  const DType dtype = DType::float32;
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    const PoolCase& which = kCases[i];
    const Sizes pooled = which.outputs(sizes);
    const Attrs attrs = which.attrs();
    CAPTURE(i);
    for (const Cut& windows : {Cut{{0, 0, 0, 0}, {2, 2, pooled[2] / 2, pooled[3]}},
                               Cut{{0, 0, pooled[2] / 2, pooled[3] / 3}, {2, 2, pooled[2], pooled[3]}},
                               Cut{{0, 0, pooled[2] / 3, 0}, {2, 2, pooled[2] / 3 + 1, pooled[3]}}}) {
      const Part y = windows.of(dtype, pooled, 9), x = under(which, sizes, windows).of(dtype, sizes, 10);
      CHECK(same_on_both({"MaxPool2D", attrs, {x}, y}));
      CHECK(same_on_both({"MaxPool2DPick", attrs, {under(which, sizes, windows).of(dtype, sizes, 11), x}, y}));
      CHECK(same_on_both({"AvgPool2D", attrs, {x}, y}));
    }
    for (const Cut& image :
         {Cut{{0, 0, 0, 0}, {2, 2, 13, 40}}, Cut{{0, 0, 13, 11}, {2, 2, 30, 40}}, Cut{{0, 0, 5, 20}, {2, 2, 6, 29}}}) {
      const Cut windows = over(which, pooled, image);
      if (windows.end[2] <= windows.begin[2] || windows.end[3] <= windows.begin[3]) continue;
      const Part dx = image.of(dtype, sizes, 12), dy = windows.of(dtype, pooled, 13);
      CHECK(same_on_both({"AvgPool2DGrad", attrs, {dy, dx}, dx}));
      CHECK(same_on_both({"MaxPool2DGrad", attrs, {dy, under(which, sizes, windows).of(dtype, sizes, 14)}, dx}));
    }
  }
}

}  // namespace ferry::test
