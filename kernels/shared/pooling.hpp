// The windows of pooling ops in images, which may be parts of larger images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "kernels/shared/slide.hpp"

namespace ferry {

/// The attributes of a pooling op.
struct Pool {
  Slide slide;
  Plane window;
};

[[nodiscard]] inline Pool pool_of(const Attrs& attrs) {
  const Ints& size = attrs.get<Ints>("size");
  return {slide_of(attrs), {size[0], size[1]}};
}

/// The windows along one dim of a part of the images.
struct PooledDim {
  WindowSteps steps;            ///< counted from where the part begins
  std::int64_t window;          ///< size of a window, in elements
  std::int64_t image, outputs;  ///< sizes of the parts of the image and of the outputs
  Span whole;                   ///< the whole image, counted from where the part begins

  /// The elements of the window at an output position that are in the whole image.
  [[nodiscard]] FERRY_HD constexpr Span window_elements(std::int64_t output) const {
    const std::int64_t begin = steps.position(output, 0), end = begin + window;
    return {begin > whole.begin ? begin : whole.begin, end < whole.end ? end : whole.end};
  }
  /// The elements of window_elements() that are in this part.
  [[nodiscard]] FERRY_HD constexpr Span local_elements(std::int64_t output) const {
    const Span all = window_elements(output);
    return {all.begin > 0 ? all.begin : 0, all.end < image ? all.end : image};
  }
  /// The output positions whose windows contain element `at`.
  [[nodiscard]] FERRY_HD constexpr Span covering_windows(std::int64_t at) const {
    // A window that begins at `past` ends before `at`.
    const std::int64_t padded = at + steps.padding, past = padded - window;
    const std::int64_t begin = past < 0 ? 0 : past / steps.stride + 1;
    const std::int64_t end = padded < 0 ? 0 : padded / steps.stride + 1;
    return {begin, end < outputs ? end : outputs};
  }
};

struct PooledDims {
  PooledDim rows, columns;
};

[[nodiscard]] inline PooledDims pooled_dims(const Pool& pool, const Array& images, const Array& outputs) {
  const Plane image = plane_of(images), output = plane_of(outputs);
  if (image.area() > std::numeric_limits<std::int32_t>::max())
    throw Error(Code::plan, "an image has {} pixels; the limit is 2147483647", image.area());
  const Slide slide = pool.slide.over_part(images.begin, outputs.begin);
  const auto whole = [&](std::size_t dim) -> Span {
    if (images.begin.empty()) return {0, images.sizes[dim]};
    return {-images.begin[dim], images.whole[dim] - images.begin[dim]};
  };
  return {{slide.rows, pool.window.rows, image.rows, output.rows, whole(2)},
          {slide.columns, pool.window.columns, image.columns, output.columns, whole(3)}};
}

}  // namespace ferry
