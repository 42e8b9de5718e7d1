// The largest element and the mean of windows of images, a row of windows at a time.
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

/// Windows that are computed together, side by side: their numbers stay in the first cache.
constexpr std::int64_t kSideBySide = 128;

/// The windows [first, first + count) of output row `row`.
struct Windows {
  std::int64_t row, first, count;
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
    for_chunks(run.parallel, planes_, grain_of(output_.area() * pool_.window.area()),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane)
                   for (std::int64_t row = 0; row < output_.rows; ++row)
                     for (std::int64_t first = 0; first < output_.columns; first += kSideBySide)
                       body(Windows{row, first, std::min(kSideBySide, output_.columns - first)}, plane * image_.area(),
                            plane * output_.area() + row * output_.columns + first);
               });
  }

  /// Calls body(place, begin, end) for each tap, row by row as in memory: of `windows`, [begin, end) have it in the
  /// image, the first at `place` from where the image begins, each of the others stride() further.
  template <class Body>
  void for_taps(const Windows& windows, const Body& body) const {
    const std::int64_t top = pool_.slide.rows.position(windows.row, 0);
    const std::int64_t bottom = std::min(image_.rows, top + pool_.window.rows);
    for (std::int64_t row = std::max<std::int64_t>(top, 0); row < bottom; ++row)
      for (std::int64_t v = 0; v < pool_.window.columns; ++v) {
        const Span inside = v < kKept ? inside_[v] : find(v);
        const std::int64_t begin = std::max(inside.begin, windows.first);
        const std::int64_t end = std::min(inside.end, windows.first + windows.count);
        if (begin < end)
          body(row * image_.columns + pool_.slide.columns.position(begin, v), begin - windows.first,
               end - windows.first);
      }
  }
  [[nodiscard]] std::int64_t stride() const { return pool_.slide.columns.stride; }

  /// Elements of window `i` that lie in the image: at least one.
  [[nodiscard]] std::int64_t elements_of(const Windows& windows, std::int64_t i) const {
    const auto along = [](const Steps& steps, std::int64_t at, std::int64_t window, std::int64_t size) {
      const std::int64_t begin = steps.position(at, 0);
      return std::min(size, begin + window) - std::max<std::int64_t>(begin, 0);
    };
    return along(pool_.slide.rows, windows.row, pool_.window.rows, image_.rows) *
           along(pool_.slide.columns, windows.first + i, pool_.window.columns, image_.columns);
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
  T value[kSideBySide];
  Place place[kSideBySide];

  Largest(const Pooling& pooling, const T* image, const Windows& windows) {
    std::fill_n(value, windows.count, -math::kInf<T>);
    std::fill_n(place, windows.count, Place(-1));
    pooling.for_taps(windows, [&](std::int64_t at, std::int64_t begin, std::int64_t end) {
      switch (pooling.stride()) {
        case 1:
          return take(image, at, std::integral_constant<std::int64_t, 1>(), begin, end);
        case 2:
          return take(image, at, std::integral_constant<std::int64_t, 2>(), begin, end);
        default:
          return take(image, at, pooling.stride(), begin, end);
      }
    });
  }

 private:
  template <class Stride>
  void take(const T* image, std::int64_t at, Stride stride, std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const T element = image[at + (i - begin) * stride];
      const bool is_first_nan = (element != element) & (value[i] == value[i]);
      const bool larger = (element > value[i]) | (place[i] < 0) | is_first_nan;
      value[i] = larger ? element : value[i];
      place[i] = larger ? static_cast<Place>(at + (i - begin) * stride) : place[i];
    }
  }
};

/// Zero, before windows add to it.
template <class T>
void clear(const KernelRun& run, const Array& array) {
  for_chunks(run.parallel, array.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(array.as<T>() + begin, array.as<T>() + end, T(0));
  });
}

void max_pool(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& y = run.outputs[0];
  y.sizes[0] = x.sizes[0];
  const Pooling pooling(run, x, y);
  dispatch_floats(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T> largest(pooling, x.as<const T>() + image, windows);
      std::copy_n(largest.value, windows.count, y.as<T>() + output);
    });
  });
}

void max_pool_pick(KernelRun& run) {
  const Array &values = run.inputs[0], &x = run.inputs[1];
  Array& y = run.outputs[0];
  y.sizes[0] = x.sizes[0];
  const Pooling pooling(run, x, y);
  dispatch_floats(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T> largest(pooling, x.as<const T>() + image, windows);
      const T* from = values.as<const T>() + image;
      for (std::int64_t i = 0; i < windows.count; ++i) y.as<T>()[output + i] = from[largest.place[i]];
    });
  });
}

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1];
  Array& dx = run.outputs[0];
  dx.sizes[0] = x.sizes[0];
  const Pooling pooling(run, x, dy);
  dispatch_floats(dx.dtype, [&](auto zero) {
    using T = decltype(zero);
    clear<T>(run, dx);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T> largest(pooling, x.as<const T>() + image, windows);
      T* to = dx.as<T>() + image;
      for (std::int64_t i = 0; i < windows.count; ++i) to[largest.place[i]] += dy.as<const T>()[output + i];
    });
  });
}

void avg_pool(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& y = run.outputs[0];
  y.sizes[0] = x.sizes[0];
  const Pooling pooling(run, x, y);
  dispatch_floats(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      T* to = y.as<T>() + output;
      std::fill_n(to, windows.count, T(0));
      pooling.for_taps(windows, [&](std::int64_t place, std::int64_t begin, std::int64_t end) {
        const T* from = x.as<const T>() + image + place;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[(i - begin) * pooling.stride()];
      });
      for (std::int64_t i = 0; i < windows.count; ++i) to[i] /= static_cast<T>(pooling.elements_of(windows, i));
    });
  });
}

void avg_pool_grad(KernelRun& run) {
  const Array& dy = run.inputs[0];
  Array& dx = run.outputs[0];
  dx.sizes[0] = dy.sizes[0];
  const Pooling pooling(run, dx, dy);
  dispatch_floats(dx.dtype, [&](auto zero) {
    using T = decltype(zero);
    clear<T>(run, dx);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      T share[kSideBySide];
      for (std::int64_t i = 0; i < windows.count; ++i)
        share[i] = dy.as<const T>()[output + i] / static_cast<T>(pooling.elements_of(windows, i));
      pooling.for_taps(windows, [&](std::int64_t place, std::int64_t begin, std::int64_t end) {
        T* to = dx.as<T>() + image + place;
        for (std::int64_t i = begin; i < end; ++i) to[(i - begin) * pooling.stride()] += share[i];
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
