// The largest element and the mean of windows of images, plane by plane.
#include <cmath>
#include <limits>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/images.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/state.hpp"

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

/// The part of a window that lies in the image: at least one element.
struct Window {
  std::int64_t top, bottom, left, right;  ///< rows [top, bottom), columns [left, right)
  [[nodiscard]] std::int64_t area() const { return (bottom - top) * (right - left); }
};

Window window_at(const Pool& pool, const Plane& image, std::int64_t p, std::int64_t q) {
  const std::int64_t top = pool.slide.rows.position(p, 0), left = pool.slide.columns.position(q, 0);
  return {std::max<std::int64_t>(top, 0), std::min(image.rows, top + pool.window.rows), std::max<std::int64_t>(left, 0),
          std::min(image.columns, left + pool.window.columns)};
}

/// Where the largest element of a window is, the first of equal ones; NaN is larger than all.
template <class T>
std::int64_t place_of_largest(const T* image, std::int64_t columns, const Window& window) {
  std::int64_t place = window.top * columns + window.left;
  for (std::int64_t row = window.top; row < window.bottom; ++row)
    for (std::int64_t at = row * columns + window.left; at < row * columns + window.right; ++at)
      if (image[at] > image[place] || (std::isnan(image[at]) && !std::isnan(image[place]))) place = at;
  return place;
}

/// Calls body(plane, p, q, window) for each window; planes are taken by threads.
template <class Body>
void for_windows(const KernelRun& run, const Array& images, const Array& outputs, const Body& body) {
  const auto& pool = kept<Pool>(run);
  const Plane image = plane_of(images), output = plane_of(outputs);
  const std::int64_t planes = images.sizes[0] * images.sizes[1];
  const std::int64_t grain = grain_of(output.area() * pool.window.area());
  for_chunks(run.parallel, planes, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t plane = first; plane < last; ++plane)
      for (std::int64_t p = 0; p < output.rows; ++p)
        for (std::int64_t q = 0; q < output.columns; ++q)
          body(plane, p * output.columns + q, window_at(pool, image, p, q));
  });
}

/// y = values at the place of the largest of `keys`; both are x for MaxPool2D.
void pick(KernelRun& run, const Array& values, const Array& keys) {
  Array& y = run.outputs[0];
  y.sizes[0] = keys.sizes[0];
  const Plane image = plane_of(keys);
  const std::int64_t outputs = plane_of(y).area();
  dispatch_floats(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_windows(run, keys, y, [&](std::int64_t plane, std::int64_t at, const Window& window) {
      const std::int64_t place = place_of_largest(keys.as<const T>() + plane * image.area(), image.columns, window);
      y.as<T>()[plane * outputs + at] = values.as<const T>()[plane * image.area() + place];
    });
  });
}

void max_pool(KernelRun& run) {
  pick(run, run.inputs[0], run.inputs[0]);
}

void max_pool_pick(KernelRun& run) {
  pick(run, run.inputs[0], run.inputs[1]);
}

/// Zero, before windows add to it.
template <class T>
void clear(const KernelRun& run, const Array& array) {
  for_chunks(run.parallel, array.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(array.as<T>() + begin, array.as<T>() + end, T(0));
  });
}

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1];
  Array& dx = run.outputs[0];
  dx.sizes[0] = x.sizes[0];
  const Plane image = plane_of(x);
  const std::int64_t outputs = plane_of(dy).area();
  dispatch_floats(dx.dtype, [&](auto zero) {
    using T = decltype(zero);
    clear<T>(run, dx);
    for_windows(run, x, dy, [&](std::int64_t plane, std::int64_t at, const Window& window) {
      const std::int64_t place = place_of_largest(x.as<const T>() + plane * image.area(), image.columns, window);
      dx.as<T>()[plane * image.area() + place] += dy.as<const T>()[plane * outputs + at];
    });
  });
}

void avg_pool(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& y = run.outputs[0];
  y.sizes[0] = x.sizes[0];
  const Plane image = plane_of(x);
  const std::int64_t outputs = plane_of(y).area();
  dispatch_floats(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_windows(run, x, y, [&](std::int64_t plane, std::int64_t at, const Window& window) {
      const T* from = x.as<const T>() + plane * image.area();
      T sum = 0;
      for (std::int64_t row = window.top; row < window.bottom; ++row)
        for (std::int64_t column = window.left; column < window.right; ++column)
          sum += from[row * image.columns + column];
      y.as<T>()[plane * outputs + at] = sum / static_cast<T>(window.area());
    });
  });
}

void avg_pool_grad(KernelRun& run) {
  const Array& dy = run.inputs[0];
  Array& dx = run.outputs[0];
  dx.sizes[0] = dy.sizes[0];
  const Plane image = plane_of(dx);
  const std::int64_t outputs = plane_of(dy).area();
  dispatch_floats(dx.dtype, [&](auto zero) {
    using T = decltype(zero);
    clear<T>(run, dx);
    for_windows(run, dx, dy, [&](std::int64_t plane, std::int64_t at, const Window& window) {
      T* to = dx.as<T>() + plane * image.area();
      const T share = dy.as<const T>()[plane * outputs + at] / static_cast<T>(window.area());
      for (std::int64_t row = window.top; row < window.bottom; ++row)
        for (std::int64_t column = window.left; column < window.right; ++column)
          to[row * image.columns + column] += share;
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
