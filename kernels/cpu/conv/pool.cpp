// Kernels of max and mean pooling of images. They compute some rows of windows at a time.
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/conv/pool_windows.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  return keep(pool_of(setup.attrs));
}

/// The largest element of each of some windows and, if `placed`, its place in the image. The first of equal elements is
/// the result; NaN is the largest.
template <class T, bool placed>
struct Largest {
  using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  T value[PlanePooling::kTogether];
  Place place[placed ? PlanePooling::kTogether : 1];

  Largest(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    const std::int64_t count = windows.rows * pooling.pitch();
    if (placed || !pooling.staged()) std::fill_n(value, count, -math::kInf<T>);
    if constexpr (placed) std::fill_n(place, count, Place(-1));
    if (!pooling.staged()) {
      find(pooling, image, windows);
    } else if constexpr (placed) {
      find_places(pooling, image, windows);
    } else {
      find_by_rows(pooling, image, windows);
    }
    if constexpr (placed) place_lowest(pooling, windows, count);
  }

 private:
  /// Sets the place of windows with only -inf elements to the place of their first element.
  void place_lowest(const PlanePooling& pooling, const PooledWindows& windows, std::int64_t count) {
    if (std::find(place, place + count, Place(-1)) == place + count) return;
    pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
      Place& at = place[i / windows.columns * pooling.pitch() + i % windows.columns];
      const std::int64_t row = std::max<std::int64_t>(rows.begin, 0), column = std::max<std::int64_t>(columns.begin, 0);
      if (at < 0) at = static_cast<Place>(row * pooling.image_columns() + column);
    });
  }

  using Vector = typename BlockOf<T>::Row;

  void find_by_rows(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    if (pooling.stride() == 1) return find_by_rows<1>(pooling, image, windows);
    if (pooling.stride() == 2) return find_by_rows<2>(pooling, image, windows);
    find_by_rows<0>(pooling, image, windows);
  }
  template <int stride>
  void find_by_rows(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    if (join_rows<stride, false>(pooling, image, windows)) join_rows<stride, true>(pooling, image, windows);
  }

  /// Joins the elements of each row of the windows, and then the rows. The order keeps the first of equal elements
  /// first. `stride`: the stride of the columns if it is known. Returns true if there may be NaN, which only
  /// `propagates_nan` propagates.
  template <int stride, bool propagates_nan>
  bool join_rows(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    T room[PlanePooling::kStaged + 2 * PlanePooling::kVector];
    Vector sum = {};  // is NaN if an element is NaN
    pooling.for_rows_under(windows, [&](std::int64_t row, const Span& over, std::int64_t begun) {
      const T* const taps = pooling.row_under(image, windows, row, room);
      for (std::int64_t c = 0; c < pooling.pitch(); c += BlockOf<T>::kSize) {
        Vector most = tap_elements<stride, true>(pooling, taps, c, windows.columns);
        Vector seen = most;
        for (std::int64_t v = 1; v < pooling.window().columns; ++v) {
          const Vector next = tap_elements<stride, false>(pooling, taps + v, c, windows.columns);
          most = larger<propagates_nan>(next, most);
          seen += next;
        }
        sum += seen;
        T* to = value + over.begin * pooling.pitch() + c;
        for (std::int64_t r = over.begin; r < begun; ++r, to += pooling.pitch()) {
          const Vector joined = larger<propagates_nan>(most, vector_at(to));
          __builtin_memcpy(to, &joined, sizeof joined);
        }
        if (begun < over.end) __builtin_memcpy(to, &most, sizeof most);
      }
    });
    bool maybe_nan = false;
    for (int k = 0; k < BlockOf<T>::kSize; ++k) maybe_nan |= sum[k] != sum[k];
    return maybe_nan;
  }

  /// The elements under a tap for a vector of windows from `c` on; `taps` begins at the tap of the first window.
  template <int stride, bool first_tap>
  static Vector tap_elements(const PlanePooling& pooling, const T* taps, std::int64_t c, std::int64_t columns) {
    if constexpr (stride == 1) return vector_at(taps + c);
    if constexpr (stride == 2)  // a later tap also reads the element before it, and so nothing behind the last element
      return first_tap ? every_second<T, 0>(taps + 2 * c) : every_second<T, 1>(taps + 2 * c - 1);
    Vector found;
    for (std::int64_t k = 0; k < BlockOf<T>::kSize; ++k)
      found[k] = taps[std::min(c + k, columns - 1) * pooling.stride()];
    return found;
  }

  template <bool propagates_nan>
  static Vector larger(Vector later, Vector first) {
    if constexpr (propagates_nan) return (~(later <= first) & (first == first)) ? later : first;
    return later > first ? later : first;
  }

  void find_places(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    T stage[PlanePooling::kStaged];
    pooling.fill_stage(image, windows, stage);
    const auto stride = static_cast<Place>(pooling.stride());
    pooling.for_staged_rows(windows, stage, [&](std::int64_t row, std::int64_t first, const T* taps) {
      for (std::int64_t c = 0; c < pooling.pitch(); c += PlanePooling::kVector)
        join<PlanePooling::kVector>(row * pooling.pitch() + c, taps + c, static_cast<Place>(first + c * stride),
                                    stride);
    });
  }

  void find(const PlanePooling& pooling, const T* image, const PooledWindows& windows) {
    pooling.for_tap_rows(windows, [&](std::int64_t at, std::int64_t begin, std::int64_t end, std::int64_t stride) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t here = at + (i - begin) * stride;
        join<1>(i, image + here, static_cast<Place>(here), Place(1));
      }
    });
  }

  /// Joins one tap to the `n` windows from i on. The tap of window i is at `first` in the image; the tap of each next
  /// window is `stride` further.
  template <std::int64_t n>
  void join(std::int64_t i, const T* tap, Place first, Place stride) {
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) {
      const T x = tap[k], y = value[i + k];
      const bool larger = (x > y) | ((x != x) & (y == y));
      value[i + k] = larger ? x : y;
      if constexpr (placed)
        place[i + k] = larger ? static_cast<Place>(first + static_cast<Place>(k) * stride) : place[i + k];
    }
  }
};

/// Sets the array to zero, before windows are added to it.
template <class T>
void clear(const KernelRun& run, const Array& array) {
  for_chunks(run.parallel, array.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(array.as<T>() + begin, array.as<T>() + end, T(0));
  });
}

/// Gives output 0 as many images as `images` has. Then calls body(zero of the dtype, pooling from `images` to
/// `outputs`).
template <class Body>
void with_pooling(KernelRun& run, const Array& images, const Array& outputs, const Body& body) {
  run.outputs[0].sizes[0] = images.sizes[0];
  const PlanePooling pooling(run, images, outputs);
  dispatch_floats(images.dtype, [&](auto zero) { body(zero, pooling); });
}

/// Sets `to` to the largest elements of squares, `size` squares at a time; the last ones of a row overlap the ones
/// before them. Returns false if there may be NaN.
template <class T, int size>
bool pool_squares(const T* image, std::int64_t image_columns, const PooledWindows& windows, T* to) {
  using Vector [[gnu::vector_size(size * sizeof(T))]] = T;
  const auto larger = [](Vector later, Vector first) { return later > first ? later : first; };
  Vector sum = {};  // is NaN if an element is NaN
  for (std::int64_t r = 0; r < windows.rows; ++r, image += 2 * image_columns, to += windows.columns)
    for (std::int64_t block = 0; block < windows.columns; block += size) {
      const std::int64_t c = std::min(block, windows.columns - size);
      const T *const above = image + 2 * c, *const below = above + image_columns;
      const Vector a = every_second<T, 0, size>(above), b = every_second<T, 1, size>(above);
      const Vector d = every_second<T, 0, size>(below), e = every_second<T, 1, size>(below);
      sum += (a + b) + (d + e);
      const Vector largest = larger(larger(e, d), larger(b, a));
      __builtin_memcpy(to + c, &largest, sizeof largest);
    }
  bool maybe_nan = false;
  for (int k = 0; k < size; ++k) maybe_nan |= sum[k] != sum[k];
  return !maybe_nan;
}

/// Pools windows by squares, if they are squares and there is no NaN. Returns whether it did.
template <class T>
bool pooled_by_squares(const PlanePooling& pooling, const T* image, const PooledWindows& windows, T* to) {
  constexpr int kSize = BlockOf<T>::kSize, kHalf = std::max(kSize / 2, 2);
  if (!pooling.by_squares() || windows.columns < kHalf) return false;
  const auto pool = windows.columns < kSize ? pool_squares<T, kHalf> : pool_squares<T, kSize>;
  return pool(pooling.first_under(image, windows), pooling.image_columns(), windows, to);
}

void max_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const PlanePooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const PooledWindows& windows, std::int64_t image, std::int64_t output) {
      T* to = y.as<T>() + output;
      if (pooled_by_squares(pooling, x.as<const T>() + image, windows, to)) return;
      const Largest<T, false> largest(pooling, x.as<const T>() + image, windows);
      for (std::int64_t r = 0; r < windows.rows; ++r)
        to = std::copy_n(largest.value + r * pooling.pitch(), windows.columns, to);
    });
  });
}

/// Sets y to the elements of `values` at the places where x has the largest element of each window.
void max_pool_pick(KernelRun& run) {
  const Array &values = run.inputs[0], &x = run.inputs[1], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const PlanePooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const PooledWindows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T, true> largest(pooling, x.as<const T>() + image, windows);
      const T* from = values.as<const T>() + image;
      T* to = y.as<T>() + output;
      for (std::int64_t r = 0; r < windows.rows; ++r)
        for (std::int64_t c = 0; c < windows.columns; ++c) *to++ = from[largest.place[r * pooling.pitch() + c]];
    });
  });
}

/// Maps elements of a gradient to elements of the image. This task may hold other rows and columns of the image than of
/// the gradient.
class GradientPart {
 public:
  GradientPart(const Array& image, const Array& gradient) : image_(plane_of(image)), gradient_(plane_of(gradient)) {
    if (image.begin.empty() || gradient.begin.empty()) return;
    rows_ = gradient.begin[2] - image.begin[2];
    columns_ = gradient.begin[3] - image.begin[3];
  }
  [[nodiscard]] bool is_same() const { return rows_ == 0 && columns_ == 0 && image_ == gradient_; }
  /// The number of the image that contains the element at `offset`.
  [[nodiscard]] std::int64_t plane(std::int64_t offset) const {
    return image_.area() == 0 ? 0 : offset / image_.area();
  }
  [[nodiscard]] std::int64_t area() const { return gradient_.area(); }
  /// The place in the gradient of an element of the image; negative if it is not in the gradient's part or not in the
  /// window `rows` × `columns`.
  [[nodiscard]] std::int64_t place(std::int64_t in_image, const Span& rows, const Span& columns) const {
    const std::int64_t row = in_image / image_.columns, column = in_image % image_.columns;
    const auto inside = [](const Span& span, std::int64_t at) { return at >= span.begin && at < span.end; };
    const bool there = inside(rows, row) && inside(columns, column) && inside({rows_, rows_ + gradient_.rows}, row) &&
                       inside({columns_, columns_ + gradient_.columns}, column);
    return there ? (row - rows_) * gradient_.columns + column - columns_ : -1;
  }

 private:
  Plane image_, gradient_;
  std::int64_t rows_ = 0, columns_ = 0;  // where the gradient's part begins, relative to the image's part
};

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1], &dx = run.outputs[0];
  with_pooling(run, x, dy, [&](auto zero, const PlanePooling& pooling) {
    using T = decltype(zero);
    clear<T>(run, dx);
    const GradientPart part(x, dx);
    if (x.count() == 0 || dx.count() == 0) return;
    pooling.for_windows(run, [&](const PooledWindows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T, true> largest(pooling, x.as<const T>() + image, windows);
      T* to = dx.as<T>() + part.plane(image) * part.area();
      const T* from = dy.as<const T>() + output;
      for (std::int64_t r = 0; r < windows.rows; ++r, from += windows.columns) {
        const auto* places = largest.place + r * pooling.pitch();
        if (part.is_same()) {
          for (std::int64_t c = 0; c < windows.columns; ++c) to[places[c]] += from[c];
          continue;
        }
        const Span rows = pooling.rows_of(windows.row + r);
        for (std::int64_t c = 0; c < windows.columns; ++c) {
          const std::int64_t at = part.place(places[c], rows, pooling.columns_of(windows.column + c));
          if (at >= 0) to[at] += from[c];
        }
      }
    });
  });
}

void avg_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const PlanePooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const PooledWindows& windows, std::int64_t image, std::int64_t output) {
      T* to = y.as<T>() + output;
      std::fill_n(to, windows.count(), T(0));
      pooling.for_tap_rows(windows, [&](std::int64_t at, std::int64_t begin, std::int64_t end, std::int64_t stride) {
        const T* from = x.as<const T>() + image + at;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[(i - begin) * stride];
      });
      pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
        to[i] /= static_cast<T>(rows.size() * columns.size());
      });
    });
  });
}

void avg_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &dx = run.outputs[0];
  run.outputs[0].sizes[0] = dy.sizes[0];
  with_pooling(run, dx, dy, [&](auto zero, const PlanePooling& pooling) {
    using T = decltype(zero);
    clear<T>(run, dx);
    // Windows are processed from the last to the first. The terms of an element are then added in the order of its
    // taps, so its bits do not depend on the borders of blocks.
    pooling.for_windows(
        run,
        [&](const PooledWindows& windows, std::int64_t image, std::int64_t output) {
          T share[PlanePooling::kTogether];
          pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
            share[i] = dy.as<const T>()[output + i] / static_cast<T>(rows.size() * columns.size());
          });
          pooling.for_tap_rows(windows,
                               [&](std::int64_t at, std::int64_t begin, std::int64_t end, std::int64_t stride) {
                                 T* to = dx.as<T>() + image + at;
                                 for (std::int64_t i = begin; i < end; ++i) to[(i - begin) * stride] += share[i];
                               });
        },
        true);
  });
}

constexpr Kernel kKernels[] = {
    {.op = "MaxPool2D", .run = max_pool, .prepare = prepare},
    {.op = "MaxPool2DGrad", .run = max_pool_grad, .prepare = prepare},
    {.op = "MaxPool2DPick", .run = max_pool_pick, .prepare = prepare},
    {.op = "AvgPool2D", .run = avg_pool, .prepare = prepare},
    {.op = "AvgPool2DGrad", .run = avg_pool_grad, .prepare = prepare},
};

}  // namespace

std::span<const Kernel> pool_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
