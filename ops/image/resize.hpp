// Resizing images. Each dim that changes is resized by a product with a matrix of weights, which is computed when the
// graph is built, or by gathers where the dim is long or nearest neighbours are taken.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <vector>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The place in the original dim of element i (of nearest neighbours computed in float32, see
/// docs/internals/decisions/nearest_neighbours.md), when a dim is resized from n to m elements. scale is m / n. Where
/// the user gives a scale, m in these formulas is scale * n, not rounded, as in ONNX.
enum class Coordinates {
  half_pixel,            ///< (i + 0.5) / scale - 0.5
  half_pixel_symmetric,  ///< half_pixel, moved so that what rounding scale * n loses is lost evenly at both ends
  pytorch_half_pixel,    ///< half_pixel, but 0 when m is 1
  half_pixel_floor,      ///< (i + 0.5) / scale: TensorFlow's for nearest neighbours
  align_corners,         ///< i * (n - 1) / (m - 1)
  asymmetric,            ///< i / scale
  crop                   ///< begin * (n - 1) + i * (end - begin) * (n - 1) / (m - 1): a part of the dim
};

enum class Interpolation { nearest, linear, cubic };

/// Which of its two neighbours a place takes: the nearer one (on a tie the lower or the upper), or always one of them.
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

struct Resizing {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;  ///< of nearest
  double cubic = -0.75;                        ///< the a of Keys' "Cubic convolution interpolation", 1981
  bool exclude_outside = false;  ///< neighbours outside have weight 0; otherwise they are the element at the edge
  bool antialias = false;        ///< linear and cubic: where a dim shrinks, an element averages all that it covers
  double outside = 0;            ///< with crop: the value of elements outside the image
};

/// A dim to resize.
struct ResizedDim {
  std::int64_t axis = 0;
  std::int64_t size = 1;
  double scale = 0;           ///< 0: size / the present size
  double begin = 0, end = 1;  ///< with crop
};

/// x with these dims resized. The old sizes must be known; neither they nor the new ones may exceed 2^24, nor differ by
/// more than a factor of 4096. x is floating-point, or of any dtype for nearest.
Value resize(const Value& x, const std::vector<ResizedDim>& dims, const Resizing& resizing = {},
             source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
