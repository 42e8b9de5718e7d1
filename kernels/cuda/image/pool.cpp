// Max pooling and average pooling, and their gradients. There is one thread for each output element. Forward, it reads
// the elements of a window; backward, the windows over an element. It does so in the order of the CPU's kernels.
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/divide.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/pooling.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

/// The place of an element in images or in outputs.
struct Pixel {
  std::int64_t plane, row, column;
};

FERRY_DEVICE inline Pixel pixel_of(std::int64_t i, std::int64_t rows, std::int64_t columns) {
  const auto [line, column] = divided(i, columns);
  const auto [plane, row] = divided(line, rows);
  return {plane, row, column};
}

/// The part of an image that is under a window.
struct WindowSpans {
  Span rows, columns;
};

/// Images and the windows that move over them.
struct PooledImages {
  PooledDims dims;

  /// The window of output i.
  [[nodiscard]] FERRY_DEVICE Pixel window(std::int64_t i) const {
    return pixel_of(i, dims.rows.outputs, dims.columns.outputs);
  }
  [[nodiscard]] FERRY_DEVICE std::int64_t area() const { return dims.rows.image * dims.columns.image; }
  [[nodiscard]] FERRY_DEVICE WindowSpans local_elements(const Pixel& window) const {
    return {dims.rows.local_elements(window.row), dims.columns.local_elements(window.column)};
  }
  /// The elements of a window in the whole images; the task may hold a part of these images.
  [[nodiscard]] FERRY_DEVICE std::int64_t area_under(std::int64_t row, std::int64_t column) const {
    return dims.rows.window_elements(row).size() * dims.columns.window_elements(column).size();
  }
};

/// The largest element of the image under a window, and its place in the image. Of equal elements, the first one
/// counts. NaN is larger than all numbers.
template <class T>
struct LargestUnder {
  using Number = typename Computed<T>::type;
  Number value = -math::kInf<Number>;
  std::int64_t place;

  FERRY_DEVICE LargestUnder(const T* image, std::int64_t columns, const WindowSpans& window_elements)
      : place(window_elements.rows.begin * columns + window_elements.columns.begin) {
    for (std::int64_t row = window_elements.rows.begin; row < window_elements.rows.end; ++row)
      for (std::int64_t column = window_elements.columns.begin; column < window_elements.columns.end; ++column) {
        const Number x = load(image[row * columns + column]);
        if (!(x > value || (x != x && value == value))) continue;
        value = x;
        place = row * columns + column;
      }
  }
};

template <class T>
[[nodiscard]] FERRY_DEVICE LargestUnder<T> largest_of(const PooledImages& images, const T* x, const Pixel& window) {
  return {x + window.plane * images.area(), images.dims.columns.image, images.local_elements(window)};
}

template <class T>
struct MaxPool {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    y[i] = stored_as<T>(largest_of(images, x, images.window(i)).value);
  }
  PooledImages images;
  const T* x;
  T* y;
};

/// y = the element of `values` at the place where x has the largest element of the window.
template <class T>
struct MaxPoolPick {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const Pixel window = images.window(i);
    y[i] = values[window.plane * images.area() + largest_of(images, x, window).place];
  }
  PooledImages images;
  const T *values, *x;
  T* y;
};

template <class T>
struct FindLargest {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    places[i] = static_cast<std::int32_t>(largest_of(images, x, images.window(i)).place);
  }
  PooledImages images;
  const T* x;
  std::int32_t* places;
};

/// The part of the gradient on this task: its offset from the part of the images, and its sizes. The two parts may
/// differ.
struct GradientPart {
  std::int64_t row, column, rows, columns;
};

/// dx = the sum of dy over the windows in which the element is the largest.
template <class T>
struct AddWhereLargest {
  using Number = typename Computed<T>::type;

  FERRY_DEVICE void operator()(std::int64_t i) const {
    const Pixel at = pixel_of(i, part.rows, part.columns);
    const PooledDim &rows = images.dims.rows, &columns = images.dims.columns;
    const std::int64_t row = at.row + part.row, column = at.column + part.column;
    const std::int64_t place = row * columns.image + column, first = at.plane * rows.outputs * columns.outputs;
    const Span rows_over = rows.covering_windows(row), columns_over = columns.covering_windows(column);
    Number sum = 0;
    for (std::int64_t r = rows_over.begin; r < rows_over.end; ++r)
      for (std::int64_t c = columns_over.begin; c < columns_over.end; ++c) {
        const std::int64_t window = first + r * columns.outputs + c;
        if (places[window] == place) sum += load(dy[window]);
      }
    dx[i] = stored_as<T>(sum);
  }
  PooledImages images;
  GradientPart part;
  const std::int32_t* places;
  const T* dy;
  T* dx;
};

template <class T>
struct AvgPool {
  using Number = typename Computed<T>::type;

  FERRY_DEVICE void operator()(std::int64_t i) const {
    const Pixel window = images.window(i);
    const WindowSpans window_elements = images.local_elements(window);
    const T* const image = x + window.plane * images.area();
    Number sum = 0;
    for (std::int64_t row = window_elements.rows.begin; row < window_elements.rows.end; ++row)
      for (std::int64_t column = window_elements.columns.begin; column < window_elements.columns.end; ++column)
        sum += load(image[row * images.dims.columns.image + column]);
    y[i] = stored_as<T>(sum / static_cast<Number>(images.area_under(window.row, window.column)));
  }
  PooledImages images;
  const T* x;
  T* y;
};

/// Adds the windows over an element, the last window first. This is the order of the CPU's kernel, which adds the terms
/// of an element by its place in the window.
template <class T>
struct AvgPoolGrad {
  using Number = typename Computed<T>::type;

  FERRY_DEVICE void operator()(std::int64_t i) const {
    const PooledDim &rows = images.dims.rows, &columns = images.dims.columns;
    const Pixel at = pixel_of(i, rows.image, columns.image);
    const Span rows_over = rows.covering_windows(at.row), columns_over = columns.covering_windows(at.column);
    const T* const from = dy + at.plane * rows.outputs * columns.outputs;
    Number sum = 0;
    for (std::int64_t r = rows_over.end - 1; r >= rows_over.begin; --r)
      for (std::int64_t c = columns_over.end - 1; c >= columns_over.begin; --c)
        sum += load(from[r * columns.outputs + c]) / static_cast<Number>(images.area_under(r, c));
    dx[i] = stored_as<T>(sum);
  }
  PooledImages images;
  const T* dy;
  T* dx;
};

PooledImages pooled_images(const KernelRun& run, const Array& images, const Array& outputs) {
  return {pooled_dims(kept<Pool>(run), images, outputs)};
}

void max_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  const PooledImages images = pooled_images(run, x, y);
  dispatch_all_floats(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, y.count(), MaxPool<T>{images, x.as<const T>(), y.as<T>()});
  });
}

void max_pool_pick(KernelRun& run) {
  const Array &values = run.inputs[0], &x = run.inputs[1], &y = run.outputs[0];
  const PooledImages images = pooled_images(run, x, y);
  dispatch_all_floats(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, y.count(), MaxPoolPick<T>{images, values.as<const T>(), x.as<const T>(), y.as<T>()});
  });
}

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1], &dx = run.outputs[0];
  const PooledImages images = pooled_images(run, x, dy);
  GradientPart part{0, 0, dx.sizes[2], dx.sizes[3]};
  if (!x.begin.empty() && !dx.begin.empty()) {
    part.row = dx.begin[2] - x.begin[2];
    part.column = dx.begin[3] - x.begin[3];
  }
  auto* const places = reinterpret_cast<std::int32_t*>(run.scratch.data());
  dispatch_all_floats(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, dy.count(), FindLargest<T>{images, x.as<const T>(), places});
    for_each(run, dx.count(), AddWhereLargest<T>{images, part, places, dy.as<const T>(), dx.as<T>()});
  });
}

void avg_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  const PooledImages images = pooled_images(run, x, y);
  dispatch_all_floats(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, y.count(), AvgPool<T>{images, x.as<const T>(), y.as<T>()});
  });
}

void avg_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &dx = run.outputs[0];
  const PooledImages images = pooled_images(run, dx, dy);
  dispatch_all_floats(dx.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, dx.count(), AvgPoolGrad<T>{images, dy.as<const T>(), dx.as<T>()});
  });
}

std::unique_ptr<KernelState> prepare_pool(const KernelSetup& setup) {
  return keep(pool_of(setup.attrs));
}
std::int64_t places_bytes(const KernelSetup& setup) {
  return setup.inputs[0].shape.count() * static_cast<std::int64_t>(sizeof(std::int32_t));
}

constexpr Kernel kPoolKernels[] = {
    {.op = "MaxPool2D", .run = max_pool, .prepare = prepare_pool, .takes = kAllNumbers},
    {.op = "MaxPool2DGrad",
     .run = max_pool_grad,
     .prepare = prepare_pool,
     .scratch_bytes = places_bytes,
     .takes = kAllNumbers},
    {.op = "MaxPool2DPick", .run = max_pool_pick, .prepare = prepare_pool, .takes = kAllNumbers},
    {.op = "AvgPool2D", .run = avg_pool, .prepare = prepare_pool, .takes = kAllNumbers},
    {.op = "AvgPool2DGrad", .run = avg_pool_grad, .prepare = prepare_pool, .takes = kAllNumbers},
};

}  // namespace

std::span<const Kernel> pool_kernels() {
  return kPoolKernels;
}

}  // namespace ferry::cuda
