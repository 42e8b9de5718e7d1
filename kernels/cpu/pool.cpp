// The largest element and the mean of windows of images, some rows of windows at a time.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/images.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/state.hpp"
#include "kernels/functors.hpp"

namespace ferry::cpu {
namespace {

struct Pool {
  Slide slide;
  Plane window;
};

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const Ints& size = setup.attrs.get<Ints>("size");
  return keep(Pool{slide_of(setup.attrs), {size[0], size[1]}});
}

/// Windows that are computed together, so that vectors are full: their numbers stay in the first cache.
constexpr std::int64_t kTogether = 256;

/// `rows` rows of `columns` windows, from output position [row, column] on.
struct Windows {
  std::int64_t row, rows, column, columns;
  [[nodiscard]] std::int64_t count() const { return rows * columns; }
};

/// The pooling of images of one size. What windows have which tap in the image is found once.
class Pooling {
 public:
  Pooling(const KernelRun& run, const Array& images, const Array& outputs)
      : pool_(kept<Pool>(run)),
        image_(plane_of(images)),
        output_(plane_of(outputs)),
        planes_(images.sizes[0] * images.sizes[1]) {
    if (image_.area() > std::numeric_limits<std::int32_t>::max())
      throw Error(Code::plan, "an image has " + std::to_string(image_.area()) + " pixels; the limit is 2147483647");
    for (std::int64_t v = 0; v < std::min(pool_.window.columns, kKept); ++v) inside_[v] = find(v);
  }

  /// Calls body(windows, where their image begins, where they begin among all outputs); images are taken by threads.
  template <class Body>
  void for_windows(const KernelRun& run, const Body& body) const {
    if (output_.area() == 0) return;
    const std::int64_t columns = std::min(kTogether, output_.columns), rows = kTogether / columns;
    const auto each = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane)
        for (std::int64_t row = 0; row < output_.rows; row += rows)
          for (std::int64_t column = 0; column < output_.columns; column += columns)
            body(Windows{row, std::min(rows, output_.rows - row), column, std::min(columns, output_.columns - column)},
                 plane * image_.area(), plane * output_.area() + row * output_.columns + column);
    };
    for_chunks(run.parallel, planes_, grain_of(output_.area() * pool_.window.area()), each);
  }

  /// Calls body(row, column) for each tap of a window.
  template <class Body>
  void for_taps(const Body& body) const {
    for (std::int64_t u = 0; u < pool_.window.rows; ++u)
      for (std::int64_t v = 0; v < pool_.window.columns; ++v) body(u, v);
  }

  [[nodiscard]] std::int64_t image_columns() const { return image_.columns; }

  /// Of a tap, calls body(place in the image, first window, end, stride) for each row of windows that has it in the
  /// image: the windows [first, end) do, one after another, their taps `stride` apart.
  template <class Body>
  void for_rows(const Windows& windows, std::int64_t u, std::int64_t v, const Body& body) const {
    const Span inside = v < kKept ? inside_[v] : find(v);
    const std::int64_t begin = std::clamp(inside.begin - windows.column, std::int64_t{0}, windows.columns);
    const std::int64_t end = std::clamp(inside.end - windows.column, begin, windows.columns);
    for (std::int64_t r = 0; begin < end && r < windows.rows; ++r) {
      const std::int64_t row = pool_.slide.rows.position(windows.row + r, u);
      if (row >= 0 && row < image_.rows)
        body(row * image_.columns + pool_.slide.columns.position(windows.column + begin, v),
             r * windows.columns + begin, r * windows.columns + end, pool_.slide.columns.stride);
    }
  }

  /// for_rows() of each tap.
  template <class Body>
  void for_tap_rows(const Windows& windows, const Body& body) const {
    for_taps([&](std::int64_t u, std::int64_t v) { for_rows(windows, u, v, body); });
  }

  /// Calls body(window, rows, columns) for each of some windows: those of its rows and columns that lie in the image.
  template <class Body>
  void for_each_window(const Windows& windows, const Body& body) const {
    const auto along = [](const Steps& steps, std::int64_t at, std::int64_t window, std::int64_t size) {
      const std::int64_t begin = steps.position(at, 0);
      return Span{std::max<std::int64_t>(begin, 0), std::min(size, begin + window)};
    };
    for (std::int64_t r = 0; r < windows.rows; ++r) {
      const Span rows = along(pool_.slide.rows, windows.row + r, pool_.window.rows, image_.rows);
      for (std::int64_t c = 0; c < windows.columns; ++c) {
        const Span columns = along(pool_.slide.columns, windows.column + c, pool_.window.columns, image_.columns);
        body(r * windows.columns + c, rows, columns);
      }
    }
  }

 private:
  static constexpr std::int64_t kKept = 16;  // columns of taps

  [[nodiscard]] Span find(std::int64_t v) const {
    return pool_.slide.columns.inside(v, image_.columns, output_.columns);
  }

  const Pool& pool_;
  const Plane image_, output_;
  const std::int64_t planes_;
  Span inside_[kKept];
};

/// The largest element of each of some windows, and where it is in the image: the first of equal ones; NaN is the
/// largest.
template <class T>
struct Largest {
  using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  T value[kTogether];
  Place place[kTogether];

  Largest(const Pooling& pooling, const T* image, const Windows& windows) {
    const std::int64_t count = windows.count();
    pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
      place[i] = static_cast<Place>(rows.begin * pooling.image_columns() + columns.begin);
    });
    std::fill_n(value, count, -math::kInf<T>);
    pooling.for_taps([&](std::int64_t u, std::int64_t v) {
      T tap[kTogether];
      Place at[kTogether] = {};
      std::fill_n(tap, count, -math::kInf<T>);  // where the tap lies in the padding
      pooling.for_rows(windows, u, v,
                       [&](std::int64_t from, std::int64_t begin, std::int64_t end, std::int64_t stride) {
                         for (std::int64_t i = begin; i < end; ++i) {
                           at[i] = static_cast<Place>(from + (i - begin) * stride);
                           tap[i] = image[at[i]];
                         }
                       });
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        const bool is_first_nan = (tap[i] != tap[i]) & (value[i] == value[i]);
        const bool larger = (tap[i] > value[i]) | is_first_nan;
        value[i] = larger ? tap[i] : value[i];
        place[i] = larger ? at[i] : place[i];
      }
    });
  }
};

/// Zero, before windows add to it.
template <class T>
void clear(const KernelRun& run, const Array& array) {
  for_chunks(run.parallel, array.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(array.as<T>() + begin, array.as<T>() + end, T(0));
  });
}

/// Output 0 has as many images as `images`. Calls body(zero of the dtype, pooling from `images` to `outputs`).
template <class Body>
void with_pooling(KernelRun& run, const Array& images, const Array& outputs, const Body& body) {
  run.outputs[0].sizes[0] = images.sizes[0];
  const Pooling pooling(run, images, outputs);
  dispatch_floats(images.dtype, [&](auto zero) { body(zero, pooling); });
}

/// y = values where x has the largest of each window.
void pick(KernelRun& run, const Array& values, const Array& x) {
  const Array& y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T> largest(pooling, x.as<const T>() + image, windows);
      const T* from = values.as<const T>() + image;
      for (std::int64_t i = 0; i < windows.count(); ++i) y.as<T>()[output + i] = from[largest.place[i]];
    });
  });
}

void max_pool(KernelRun& run) {
  pick(run, run.inputs[0], run.inputs[0]);
}

void max_pool_pick(KernelRun& run) {
  pick(run, run.inputs[0], run.inputs[1]);
}

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1], &dx = run.outputs[0];
  with_pooling(run, x, dy, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    clear<T>(run, dx);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T> largest(pooling, x.as<const T>() + image, windows);
      T* to = dx.as<T>() + image;
      for (std::int64_t i = 0; i < windows.count(); ++i) to[largest.place[i]] += dy.as<const T>()[output + i];
    });
  });
}

void avg_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
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
  with_pooling(run, dx, dy, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    clear<T>(run, dx);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      T share[kTogether];
      pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
        share[i] = dy.as<const T>()[output + i] / static_cast<T>(rows.size() * columns.size());
      });
      pooling.for_tap_rows(windows, [&](std::int64_t at, std::int64_t begin, std::int64_t end, std::int64_t stride) {
        T* to = dx.as<T>() + image + at;
        for (std::int64_t i = begin; i < end; ++i) to[(i - begin) * stride] += share[i];
      });
    });
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
