// Resizes images. Each dim that changes is resized by a product with a matrix of weights, which is computed when the
// graph is built. If the dim is long, or nearest neighbours are taken, it is resized by gathers instead.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <vector>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The position of new element i in the original dim, when a dim is resized from n to m elements. scale is m / n. If
/// the user gives a scale, m in these formulas is scale * n, not rounded, as in ONNX. For nearest neighbours, positions
/// are computed in float32 (docs/internals/decisions/nearest_neighbours.md).
enum class Coordinates {
  half_pixel,            ///< (i + 0.5) / scale - 0.5
  half_pixel_symmetric,  ///< half_pixel, moved so that both ends lose the same from the rounding of scale * n
  pytorch_half_pixel,    ///< half_pixel, but 0 if m is 1
  half_pixel_floor,      ///< (i + 0.5) / scale, as in TensorFlow for nearest neighbours
  align_corners,         ///< i * (n - 1) / (m - 1)
  asymmetric,            ///< i / scale
  crop                   ///< begin * (n - 1) + i * (end - begin) * (n - 1) / (m - 1): a part of the dim
};

enum class Interpolation { nearest, linear, cubic };

/// The neighbour that a position takes: the nearer one (on a tie the lower or the upper), or always the lower or the
/// upper.
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

/// How resize() computes elements.
struct Resizing {
  Interpolation interpolation = Interpolation::nearest;  ///< between elements
  Coordinates coordinates = Coordinates::half_pixel;     ///< positions in the image
  Rounding rounding = Rounding::prefer_floor;            ///< for nearest
  double cubic = -0.75;          ///< the parameter a of Keys' "Cubic convolution interpolation", 1981
  bool exclude_outside = false;  ///< neighbours outside have weight 0; false: they have the value at the edge
  bool antialias = false;  ///< linear and cubic: if a dim shrinks, an element averages all elements that it covers
  double outside = 0;      ///< with crop: the value of elements outside the image
};

/// A dim to resize.
struct ResizedDim {
  std::int64_t axis = 0;      ///< number of the dim
  std::int64_t size = 1;      ///< its new size
  double scale = 0;           ///< 0: size / the old size
  double begin = 0, end = 1;  ///< for Coordinates::crop
};

/// x with these dims resized. The old sizes must be known. Neither old nor new sizes may exceed 2^24, nor differ by
/// more than a factor of 4096. x is floating-point, or of any dtype for nearest.
///
///     resize(g.constant({1.0, 3.0}), {{.axis = 0, .size = 4}});  // [1 1 3 3]
///     const std::vector<ResizedDim> dims = {{.axis = 2, .size = 64}, {.axis = 3, .size = 64}};
///     resize(images, dims, {.interpolation = Interpolation::linear});  // float32[8,3,64,64]
Value resize(const Value& x, const std::vector<ResizedDim>& dims, const Resizing& resizing = {},
             source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
