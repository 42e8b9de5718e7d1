// Samples images at positions that are values themselves and may be between pixels. Elements are interpolated, and the
// result is differentiable with respect to images and positions.
//
// Values are floating-point; all sizes must be known when the graph is built. Errors: all functions throw Error(plan),
// with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"
#include "ops/image/conv.hpp"
#include "ops/image/resize.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The values of elements outside an image.
enum class Outside {
  zeros,      ///< zeros
  border,     ///< the nearest element of the border
  reflection  ///< the image, reflected at its borders
};

/// How grid_sample() computes elements.
struct Sampling {
  Interpolation interpolation = Interpolation::linear;  ///< cubic uses Keys' kernel with a = -0.75
  Outside outside = Outside::zeros;                     ///< elements outside the image
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost elements; false: their outer edges
};

/// The elements of x [n,c,d1,…,dk] at the positions of `grid` [n,p1,…,k], as [n,c,p1,…]. The last dim of the grid has
/// the coordinates along dk, …, d1, in this order, each from -1 to 1 (Jaderberg et al., "Spatial transformer networks",
/// 2015).
///
///     grid_sample(images, g.input("grid", {8, 16, 16, 2}));  // float32[8,3,16,16]
Value grid_sample(const Value& x, const Value& grid, const Sampling& sampling = {},
                  source_location at = source_location::current());

/// The grid [n,d1,…,dk,k] for grid_sample() of the affine map theta [n,k,k + 1]. `sizes` {d1,…,dk} are the sizes of the
/// resulting image, which has two or three dims. `align_corners` is as in Sampling.
///
///     Value theta = g.input("theta", {8, 2, 3});
///     grid_sample(images, affine_grid(theta, {32, 32}));  // float32[8,3,32,32]
Value affine_grid(const Value& theta, const Ints& sizes, bool align_corners = false,
                  source_location at = source_location::current());

/// How roi_align() cuts regions.
struct Regions {
  std::int64_t rows = 1, columns = 1;  ///< size of the result
  /// Samples for each element of the result, along each dim. 0: the size of the element's part in pixels, rounded up.
  std::int64_t samples = 1;
  double scale = 1;  ///< factor of the regions' coordinates
  /// True: coordinates are edges of pixels. False: they are centres of pixels, and regions have a size of at least 1.
  bool half_pixel = true;
  bool largest = false;  ///< takes the largest of the samples' weighted neighbours instead of the samples' mean
};

/// The regions [r,4] (x1, y1, x2, y2) of images x [n,c,h,w], as [r,c,rows,columns]. `images` [r] (integers) has the
/// number of each region's image (He et al., "Mask R-CNN", 2017). A number that is not in [0, n) is an error at run
/// time. With `samples` 0 there is no gradient, and a region
/// with infinite or NaN coordinates gives NaN.
///
///     Value regions = g.input("regions", {5, 4}), of_images = g.input("of_images", DType::int64, {5});
///     roi_align(images, regions, of_images, {.rows = 7, .columns = 7});  // float32[5,3,7,7]
Value roi_align(const Value& x, const Value& regions, const Value& images, const Regions& cut,
                source_location at = source_location::current());

/// The inputs and options of deform_conv() besides the filter.
struct Deforming {
  Sliding sliding = {};            ///< strides, padding and dilations
  std::int64_t groups = 1;         ///< as for conv2d()
  std::int64_t offset_groups = 1;  ///< number of equal blocks of channels, each with its own offsets
  /// Factors of the elements under the taps, [n,offset groups * taps,p,q]; undefined: 1.
  Value mask = {};
};

/// conv2d() of x [n,c,h,w] with w [o,c/groups,kh,kw]. Each tap of each position is moved by the rows and columns in
/// `offsets` [n,offset groups * taps * 2,p,q] (Zhu et al., "Deformable ConvNets v2", 2019).
///
///     Value w = g.input("w", {16, 3, 3, 3}), offsets = g.input("offsets", {8, 18, 30, 30});
///     deform_conv(images, w, offsets);  // float32[8,16,30,30]
Value deform_conv(const Value& x, const Value& w, const Value& offsets, const Deforming& deforming = {},
                  source_location at = source_location::current());

/// The op, with its attributes in braces: RoiAlign {columns, half_pixel: bool, largest: bool, rows, scale: float} is
/// roi_align() with samples 0.
[[nodiscard]] std::span<const OpDef* const> sample_ops();

}  // namespace ferry
#pragma GCC visibility pop
