// Images of other sizes: every dim that changes is multiplied by a matrix that is made when the graph is built, or,
// when it is long or for nearest neighbours, picked from by indices.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <vector>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Where element i of a resized dim lies in the original one, which has `n` elements and now has `m`. Scale is m / n
/// unless it is given; then m, where it stands below, is scale * n as ONNX has it, before it is rounded down.
enum class Coordinates {
  half_pixel,            ///< (i + 0.5) / scale - 0.5
  half_pixel_symmetric,  ///< the same, so that what scale * n is rounded off is lost on both sides
  pytorch_half_pixel,    ///< the same, 0 when m is 1
  half_pixel_floor,      ///< (i + 0.5) / scale: TensorFlow's for nearest neighbours
  align_corners,         ///< i * (n - 1) / (m - 1)
  asymmetric,            ///< i / scale
  crop                   ///< begin * (n - 1) + i * (end - begin) * (n - 1) / (m - 1): a part of the dim
};

enum class Interpolation { nearest, linear, cubic };

/// To which neighbour of two a place belongs: the nearest, of two as near the one before or behind; or always one side.
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

struct Resizing {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;  ///< of nearest
  double cubic = -0.75;                        ///< the a of Keys' "Cubic convolution interpolation", 1981
  bool exclude_outside = false;  ///< neighbours outside have weight 0; otherwise they are the element at the edge
  bool antialias = false;        ///< linear and cubic: made smaller, an element takes from all that it covers
  double outside = 0;            ///< with crop: the value of what lies outside
};

/// A dim that gets another size.
struct ResizedDim {
  std::int64_t axis = 0;
  std::int64_t size = 1;
  double scale = 0;           ///< 0: size / the size of now
  double begin = 0, end = 1;  ///< with crop
};

/// x with other sizes. Sizes of these dims are known, and at most 4,096 times as large or as small as before. Nearest:
/// of any dtype; otherwise floating-point.
Value resize(const Value& x, const std::vector<ResizedDim>& dims, const Resizing& resizing = {},
             source_location at = source_location::current());

}  // namespace ferry
