// Ops of images: pooling, resizing, regions, squares of pixels.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

TEST_CASE("an older Resize to a smaller size takes the next element: ONNX 1.5's case test_resize_downsample_nearest") {
  const Tensor x = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), smaller = floats({4}, {1, 1, 0.6F, 0.6F});
  CHECK(OneNode{"Resize", 10}.text({x, smaller}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Upsample", 9}.text({x, smaller}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Upsample", 7, {{"scales", Floats{1, 1, 0.6F, 0.6F}}}}.text({x}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Resize", 10}.text({x, floats({4}, {1, 1, 1.5F, 0.6F})}) == "[[[[1 3] [1 3] [5 7]]]]");
}

TEST_CASE("a norm over whole images") {
  const Tensor y = OneNode{"GlobalLpPool", 2, {integer("p", 3)}}.run({floats({1, 2, 1, 2}, {-1, 2, 3, 0})})[0];
  CHECK(y.sizes() == std::vector<std::int64_t>{1, 2, 1, 1});
  CHECK(y.number(0) == doctest::Approx(std::cbrt(9.0)));
  CHECK(y.number(1) == doctest::Approx(3));
}

TEST_CASE("regions with as many samples as they are large: onnxruntime's numbers") {
  std::vector<float> pixels;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j) pixels.push_back(static_cast<float>((i * 7 + j * 3) % 11));
  const Tensor x = floats({1, 1, 5, 6}, pixels), images = longs({3}, {0, 0, 0});
  const Tensor regions = floats({3, 4}, {0, 0, 9, 7, -4, 1, 3, 14, 2, 2, 2.5F, 3});
  const auto check = [&](const char* mode, const char* coordinates, const std::vector<double>& wanted) {
    const OneNode node{"RoiAlign",
                       16,
                       {text("mode", mode),
                        text("coordinate_transformation_mode", coordinates),
                        {"spatial_scale", 0.5},
                        integer("output_height", 2),
                        integer("output_width", 2)}};
    const Tensor y = node.run({x, regions, images})[0];
    REQUIRE(y.count() == static_cast<std::int64_t>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-6));
  };
  check("avg", "half_pixel",
        {4.28515625, 5.639322757720947, 5.703125, 4.63671875, 0, 5.4404296875, 0, 3.499755859375, 6.0625, 6.4375,
         7.8125, 8.1875});
  check("avg", "output_half_pixel",
        {5.71875, 5.1640625, 5.393229007720947, 3.87890625, 3.2265625, 6.257568359375, 1.5, 3.765625, 7.6875, 5.0625,
         7.0625, 7.1875});
  check("max", "half_pixel",
        {5.6875, 7.875, 5.625, 5.4140625, 0, 8.4375, 0, 6, 3.515625, 4.296875, 4.921875, 6.015625});
  check("max", "output_half_pixel",
        {6.015625, 4.8125, 6.3984375, 4.6875, 6.5625, 8.49609375, 6, 8.4375, 5.625, 1.875, 3.375, 5.0625});
  const OneNode huge{"RoiAlign", 16};
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(huge.text({x, floats({2, 4}, {0, 1e29F, 5, 1e30F, 0, 0, infinity, 1}), longs({2}, {0, 0})}) ==
        "[[[[0]]] [[[nan]]]]");
  CHECK(has(error_of(huge, {x, floats({1, 4}, {0, 0, 1, 1}), longs({1}, {1})}), "the image 1 of region 0"));
}

TEST_CASE("squares of pixels become channels in either order") {
  const Tensor x = longs({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto channels = [&](const char* mode) {
    const OneNode forth{"SpaceToDepth", 28, {integer("blocksize", 2), text("mode", mode)}};
    const OneNode back{"DepthToSpace", 28, {integer("blocksize", 2), text("mode", mode)}};
    const Tensor deep = forth.run({x})[0];
    CHECK(back.run({deep})[0].same_bits(x));
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < deep.count(); ++i) order.push_back(deep.integer(i));
    return order;
  };
  CHECK(channels("DCR") == std::vector<std::int64_t>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(channels("CRD") == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(has(error_of({"SpaceToDepth", 28, {integer("blocksize", 2), text("mode", "RCD")}}, {x}), "a mode of 'RCD'"));
}

}  // namespace ferry::test
