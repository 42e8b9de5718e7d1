// Sampling images at places that are values themselves and may lie between pixels: elements are interpolated, and the
// result is differentiable with respect to images and places.
//
// Floating-point; all sizes are known when the graph is built. Errors: all functions throw Error(plan), with the
// caller's line, when shapes or dtypes do not fit.
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

/// The values taken for elements outside an image.
enum class Outside {
  zeros,      ///< zeros
  border,     ///< the nearest element of the border
  reflection  ///< the image, reflected at its borders
};

struct Sampling {
  Interpolation interpolation = Interpolation::linear;  ///< cubic: Keys' with a = -0.75
  Outside outside = Outside::zeros;
  bool align_corners = false;  ///< -1 and 1 are the middles of the outermost elements, not their outer edges
};

/// Elements of x [n,c,d1,…,dk] at the places of `grid` [n,p1,…,k]: [n,c,p1,…]. The last dim of the grid has the
/// coordinates along dk, …, d1, in this order, each from -1 to 1 (Jaderberg et al., "Spatial transformer networks",
/// 2015).
Value grid_sample(const Value& x, const Value& grid, const Sampling& sampling = {},
                  source_location at = source_location::current());

/// The grid [n,d1,…,dk,k] for grid_sample() by which the affine map theta [n,k,k + 1] gives an image of these `sizes`
/// {d1,…}, which has two or three dims.
Value affine_grid(const Value& theta, const Ints& sizes, bool align_corners = false,
                  source_location at = source_location::current());

/// How roi_align cuts regions.
struct Regions {
  std::int64_t rows = 1, columns = 1;  ///< of the result
  std::int64_t samples = 1;  ///< for each element of it, along each dim; 0: the pixels that it covers, rounded up
  double scale = 1;          ///< of the regions' coordinates
  bool half_pixel = true;    ///< coordinates name pixels' edges; false: their middles, and regions are at least 1 large
  bool largest = false;      ///< takes the largest of the samples' weighted neighbours, not the samples' mean
};
/// Regions [r,4] (x1, y1, x2, y2) of images x [n,c,h,w], as [r,c,rows,columns]; `images` [r] (integers) has the number
/// of each region's image (He et al., "Mask R-CNN", 2017). With `samples` 0 it has no gradient, and a region of
/// infinite or NaN coordinates gives NaN.
Value roi_align(const Value& x, const Value& regions, const Value& images, const Regions& cut,
                source_location at = source_location::current());

/// The inputs and options of deform_conv() besides the filter.
struct Deforming {
  Sliding sliding = {};
  std::int64_t groups = 1;
  std::int64_t offset_groups = 1;  ///< equal blocks of channels, each with offsets of its own
  Value mask = {};                 ///< [n,offset groups * taps,p,q], factors of the elements under the taps; none: 1
};
/// conv2d() of x [n,c,h,w] with w [o,c/groups,kh,kw]. Each tap of each position is moved by the rows and columns in
/// `offsets` [n,offset groups * taps * 2,p,q] (Zhu et al., "Deformable ConvNets v2", 2019).
Value deform_conv(const Value& x, const Value& w, const Value& offsets, const Deforming& deforming = {},
                  source_location at = source_location::current());

/// RoiAlign {columns, half_pixel: bool, largest: bool, rows, scale: float}: roi_align with samples 0.
[[nodiscard]] std::span<const OpDef* const> sample_ops();

}  // namespace ferry
#pragma GCC visibility pop
