// The largest element and the mean of windows of images, some rows of windows at a time.
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/conv/images.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/pooling.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  return keep(pool_of(setup.attrs));
}

/// Windows that are computed together, so that vectors are full: their results stay in the first-level cache.
constexpr std::int64_t kTogether = 256;
constexpr std::int64_t kStaged = 4096;  ///< elements of the image under them, at most, that are staged
constexpr std::int64_t kVector = 8;

/// `rows` rows of `columns` windows, from output position [row, column] on.
struct Windows {
  std::int64_t row, rows, column, columns;
  [[nodiscard]] std::int64_t count() const { return rows * columns; }
};

/// The pooling of images of one size. Which windows have which tap in the image is found once.
class Pooling {
 public:
  Pooling(const KernelRun& run, const Array& images, const Array& outputs)
      : pool_(kept<Pool>(run)),
        slide_(pool_.slide.over_part(images.begin, outputs.begin)),
        dims_(pooled_dims(pool_, images, outputs)),
        image_(plane_of(images)),
        output_(plane_of(outputs)),
        planes_(images.sizes[0] * images.sizes[1]) {
    for (std::int64_t v = 0; v < std::min(pool_.window.columns, kKept); ++v) inside_[v] = find(v);
    columns_ = std::clamp<std::int64_t>(output_.columns, 1, kTogether);
    rows_ = kTogether / columns_;
    cut_for_stage();
  }

  /// Calls body(windows, offset of their image, offset of the first window among all outputs); images are divided among
  /// threads. The windows of an image come in their order, or from the last ones to the first.
  template <class Body>
  void for_windows(const KernelRun& run, const Body& body, bool backwards = false) const {
    if (output_.area() == 0) return;
    const std::int64_t along = (output_.columns + columns_ - 1) / columns_;
    const std::int64_t blocks = (output_.rows + rows_ - 1) / rows_ * along;
    const auto each = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane)
        for (std::int64_t i = 0; i < blocks; ++i) {
          const std::int64_t block = backwards ? blocks - 1 - i : i;
          const std::int64_t row = block / along * rows_, column = block % along * columns_;
          body(Windows{row, std::min(rows_, output_.rows - row), column, std::min(columns_, output_.columns - column)},
               plane * image_.area(), plane * output_.area() + row * output_.columns + column);
        }
    };
    for_chunks(run.parallel, planes_, grain_of(output_.area() * pool_.window.area()), each);
  }

  /// Calls body(row, column) for each tap of a window.
  template <class Body>
  void for_taps(const Body& body) const {
    for (std::int64_t u = 0; u < pool_.window.rows; ++u)
      for (std::int64_t v = 0; v < pool_.window.columns; ++v) body(u, v);
  }

  [[nodiscard]] const Plane& window() const { return pool_.window; }
  [[nodiscard]] std::int64_t image_columns() const { return image_.columns; }

  /// Results of a row of windows take up so many elements: whole vectors if images are staged.
  [[nodiscard]] std::int64_t pitch() const { return pitch_; }
  [[nodiscard]] bool staged() const { return part_ > 0; }

  /// Copies the elements under some windows to `stage`. Columns are sorted by their remainder modulo the stride, so
  /// that the elements under one tap of a row of windows are consecutive. Padding becomes -inf; elements that only fill
  /// up vectors may be any number.
  template <class T>
  void fill_stage(const T* image, const Windows& windows, T* stage) const {
    const std::int64_t rows = rows_under(windows.rows);
    const std::int64_t first_row = slide_.rows.position(windows.row, 0);
    for (std::int64_t rest = 0; rest < stride(); ++rest, stage += stage_step()) {
      std::fill_n(stage + rows * part_, kVector, T(0));
      if (flat_) {
        copy_steps(image + first_row * image_.columns + rest, rows * part_, stride(), stage);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r)
        fill_row(image, first_row + r, slide_.columns.position(windows.column, rest), windows.columns,
                 stage + r * part_);
    }
  }

  /// Calls body(row of the stage, elements under a tap in it) for each row and tap of a row of windows.
  template <class T, class Body>
  void for_taps_in_rows(const Windows& windows, const T* stage, const Body& body) const {
    for (std::int64_t r = 0; r < rows_under(windows.rows); ++r, stage += part_)
      for (std::int64_t v = 0, rest = 0, at = 0; v < pool_.window.columns; ++v) {
        body(r, v, stage + rest * stage_step() + at);
        if (++rest == stride()) rest = 0, ++at;
      }
  }
  /// Calls body(row of windows, row of the stage) for each of the rows that are under it.
  template <class Body>
  void for_rows_under(const Windows& windows, const Body& body) const {
    for (std::int64_t r = 0; r < windows.rows; ++r)
      for (std::int64_t u = 0; u < pool_.window.rows; ++u) body(r, u, r * slide_.rows.stride + u);
  }

  /// Calls body(row of windows, place in the image of the tap of its first window, elements under the tap in the stage)
  /// for each row and tap.
  template <class T, class Body>
  void for_staged_rows(const Windows& windows, const T* stage, const Body& body) const {
    for (std::int64_t r = 0; r < windows.rows; ++r) {
      const std::int64_t row = slide_.rows.position(windows.row + r, 0);
      std::int64_t place = row * image_.columns + slide_.columns.position(windows.column, 0);
      const T* taps = stage + r * slide_.rows.stride * part_;
      for (std::int64_t u = 0; u < pool_.window.rows; ++u, place += image_.columns, taps += part_)
        for (std::int64_t v = 0, rest = 0, at = 0; v < pool_.window.columns; ++v) {
          body(r, place + v, taps + rest * stage_step() + at);
          if (++rest == stride()) rest = 0, ++at;
        }
    }
  }
  [[nodiscard]] std::int64_t stride() const { return slide_.columns.stride; }

  /// For tap (u,v), calls body(place in the image, first window, end, stride) for each row of windows that has it in
  /// the image: the windows [first, end) do, one after another, their taps `stride` apart.
  template <class Body>
  void for_rows(const Windows& windows, std::int64_t u, std::int64_t v, const Body& body) const {
    const Span inside = v < kKept ? inside_[v] : find(v);
    const std::int64_t begin = std::clamp(inside.begin - windows.column, std::int64_t{0}, windows.columns);
    const std::int64_t end = std::clamp(inside.end - windows.column, begin, windows.columns);
    for (std::int64_t r = 0; begin < end && r < windows.rows; ++r) {
      const std::int64_t row = slide_.rows.position(windows.row + r, u);
      if (row >= 0 && row < image_.rows)
        body(row * image_.columns + slide_.columns.position(windows.column + begin, v), r * windows.columns + begin,
             r * windows.columns + end, slide_.columns.stride);
    }
  }

  /// for_rows() of each tap.
  template <class Body>
  void for_tap_rows(const Windows& windows, const Body& body) const {
    for_taps([&](std::int64_t u, std::int64_t v) { for_rows(windows, u, v, body); });
  }

  /// Calls body(window, rows, columns) for each of some windows, with those of its rows and columns that are in the
  /// whole image, of which this may be a part.
  template <class Body>
  void for_each_window(const Windows& windows, const Body& body) const {
    for (std::int64_t r = 0; r < windows.rows; ++r) {
      const Span rows = rows_of(windows.row + r);
      for (std::int64_t c = 0; c < windows.columns; ++c) {
        const Span columns = columns_of(windows.column + c);
        body(r * windows.columns + c, rows, columns);
      }
    }
  }

  /// The rows and columns of a window that are in the whole image, counted from where this part begins.
  [[nodiscard]] Span rows_of(std::int64_t window) const { return dims_.rows.under(window); }
  [[nodiscard]] Span columns_of(std::int64_t window) const { return dims_.columns.under(window); }

 private:
  static constexpr std::int64_t kKept = 16;  // columns of taps of which inside_ is kept

  [[nodiscard]] Span find(std::int64_t v) const { return slide_.columns.inside(v, image_.columns, output_.columns); }

  [[nodiscard]] std::int64_t rows_under(std::int64_t rows) const {
    return (rows - 1) * slide_.rows.stride + pool_.window.rows;
  }

  /// Elements of the stage from the columns of one remainder to those of the next.
  [[nodiscard]] std::int64_t stage_step() const { return rows_under(rows_) * part_ + kVector; }

  /// Chooses how many rows of windows are pooled together so that the elements under them can be staged. If rows of the
  /// image follow one another without padding, they are copied as one (`flat_`).
  void cut_for_stage() {
    const auto up = [](std::int64_t n) { return (n + kVector - 1) / kVector * kVector; };
    const bool fits = rows_under(output_.rows) <= image_.rows &&
                      (output_.columns - 1) * stride() + pool_.window.columns <= image_.columns;
    flat_ = slide_.padding_free && fits && image_.columns % stride() == 0 && columns_ == output_.columns;
    pitch_ = up(columns_);
    part_ = flat_ ? image_.columns / stride() : up(pitch_ + (pool_.window.columns - 1) / stride());
    std::int64_t rows = std::min(kTogether / pitch_, output_.rows);
    std::swap(rows, rows_);
    while (rows_ > 0 && stage_step() * stride() > kStaged) --rows_;
    if (rows_ > 0) return;
    rows_ = rows;
    pitch_ = columns_;
    part_ = 0;
  }

  /// A row of the stage, from column `first` of the image on.
  template <class T>
  void fill_row(const T* image, std::int64_t row, std::int64_t first, std::int64_t columns, T* to) const {
    const std::int64_t needed = columns + (pool_.window.columns - 1) / stride();
    const WindowSteps along{.stride = stride(), .padding = -first};
    const Span inside = row < 0 || row >= image_.rows ? Span{} : along.inside(0, image_.columns, needed);
    std::fill(to, to + inside.begin, -math::kInf<T>);
    copy_steps(image + row * image_.columns + along.position(inside.begin, 0), inside.size(), stride(),
               to + inside.begin);
    std::fill(to + inside.end, to + needed, -math::kInf<T>);
    std::fill(to + needed, to + part_, T(0));
  }

  const Pool& pool_;
  const Slide slide_;  // over the part that is here
  const PooledDims dims_;
  const Plane image_, output_;
  const std::int64_t planes_;
  Span inside_[kKept];
  std::int64_t columns_, rows_;  // of windows together
  std::int64_t pitch_ = 0;
  std::int64_t part_ = 0;  // elements of a row in the stage, for one remainder; 0: there is no stage
  bool flat_ = false;
};

/// The largest element of each of some windows, and if `placed` where it is in the image. Of equal ones it is the
/// first; NaN is the largest.
template <class T, bool placed>
struct Largest {
  using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  T value[kTogether];
  Place place[placed ? kTogether : 1];

  Largest(const Pooling& pooling, const T* image, const Windows& windows) {
    const std::int64_t count = windows.rows * pooling.pitch();
    if (placed || !pooling.staged()) std::fill_n(value, count, -math::kInf<T>);
    if constexpr (placed) std::fill_n(place, count, Place(-1));
    if (pooling.staged())
      placed ? find_places(pooling, image, windows) : find_by_rows(pooling, image, windows);
    else
      find(pooling, image, windows);
    if constexpr (placed) place_lowest(pooling, windows, count);
  }

 private:
  /// Gives a place to windows whose elements are all -inf: that of their first element.
  void place_lowest(const Pooling& pooling, const Windows& windows, std::int64_t count) {
    if (std::find(place, place + count, Place(-1)) == place + count) return;
    pooling.for_each_window(windows, [&](std::int64_t i, const Span& rows, const Span& columns) {
      Place& at = place[i / windows.columns * pooling.pitch() + i % windows.columns];
      const std::int64_t row = std::max<std::int64_t>(rows.begin, 0), column = std::max<std::int64_t>(columns.begin, 0);
      if (at < 0) at = static_cast<Place>(row * pooling.image_columns() + column);
    });
  }

  /// The largest of each row of the windows, and then of these: the first one still comes first.
  void find_by_rows(const Pooling& pooling, const T* image, const Windows& windows) {
    T stage[kStaged], rows[kStaged];
    pooling.fill_stage(image, windows, stage);
    const std::int64_t pitch = pooling.pitch(), columns = pooling.window().columns;
    const T* first = nullptr;
    pooling.for_taps_in_rows(windows, stage, [&](std::int64_t row, std::int64_t v, const T* taps) {
      T* const to = rows + row * pitch;
      if (v == 0 && columns == 1) copy_row(taps, pitch, to);
      if (v > 0) join_rows(v == 1 ? first : to, taps, pitch, to);
      first = taps;
    });
    pooling.for_rows_under(windows, [&](std::int64_t row, std::int64_t u, std::int64_t under) {
      T* const to = value + row * pitch;
      const T* const here = rows + under * pitch;
      if (u == 0 && pooling.window().rows == 1) copy_row(here, pitch, to);
      if (u > 0) join_rows(u == 1 ? here - pitch : to, here, pitch, to);
    });
  }

  static void join_rows(const T* one, const T* other, std::int64_t pitch, T* to) {
    for (std::int64_t c = 0; c < pitch; c += kVector)
#pragma omp simd
      for (std::int64_t k = c; k < c + kVector; ++k) {
        const T x = other[k], y = one[k];
        to[k] = (!(x <= y) & (y == y)) ? x : y;
      }
  }

  void find_places(const Pooling& pooling, const T* image, const Windows& windows) {
    T stage[kStaged];
    pooling.fill_stage(image, windows, stage);
    const auto stride = static_cast<Place>(pooling.stride());
    pooling.for_staged_rows(windows, stage, [&](std::int64_t row, std::int64_t first, const T* taps) {
      for (std::int64_t c = 0; c < pooling.pitch(); c += kVector)
        join<kVector>(row * pooling.pitch() + c, taps + c, static_cast<Place>(first + c * stride), stride);
    });
  }

  void find(const Pooling& pooling, const T* image, const Windows& windows) {
    pooling.for_tap_rows(windows, [&](std::int64_t at, std::int64_t begin, std::int64_t end, std::int64_t stride) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t here = at + (i - begin) * stride;
        join<1>(i, image + here, static_cast<Place>(here), Place(1));
      }
    });
  }

  /// Joins one tap to the `n` windows from i on. For window i the tap is at `first` in the image, for each next window
  /// `stride` further.
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

/// Output 0 has as many images as `images`. Calls body(zero of the dtype, pooling from `images` to `outputs`).
template <class Body>
void with_pooling(KernelRun& run, const Array& images, const Array& outputs, const Body& body) {
  run.outputs[0].sizes[0] = images.sizes[0];
  const Pooling pooling(run, images, outputs);
  dispatch_floats(images.dtype, [&](auto zero) { body(zero, pooling); });
}

void max_pool(KernelRun& run) {
  const Array &x = run.inputs[0], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T, false> largest(pooling, x.as<const T>() + image, windows);
      T* to = y.as<T>() + output;
      for (std::int64_t r = 0; r < windows.rows; ++r)
        to = std::copy_n(largest.value + r * pooling.pitch(), windows.columns, to);
    });
  });
}

/// y = values where x has the largest of each window.
void max_pool_pick(KernelRun& run) {
  const Array &values = run.inputs[0], &x = run.inputs[1], &y = run.outputs[0];
  with_pooling(run, x, y, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T, true> largest(pooling, x.as<const T>() + image, windows);
      const T* from = values.as<const T>() + image;
      T* to = y.as<T>() + output;
      for (std::int64_t r = 0; r < windows.rows; ++r)
        for (std::int64_t c = 0; c < windows.columns; ++c) *to++ = from[largest.place[r * pooling.pitch() + c]];
    });
  });
}

/// Where the elements of a gradient lie among those of the image, of which other rows and columns are here.
class OtherPart {
 public:
  OtherPart(const Array& image, const Array& gradient) : image_(plane_of(image)), gradient_(plane_of(gradient)) {
    if (image.begin.empty() || gradient.begin.empty()) return;
    rows_ = gradient.begin[2] - image.begin[2];
    columns_ = gradient.begin[3] - image.begin[3];
  }
  [[nodiscard]] bool same() const { return rows_ == 0 && columns_ == 0 && image_ == gradient_; }
  /// The number of the image in which that element is.
  [[nodiscard]] std::int64_t plane(std::int64_t offset) const {
    return image_.area() == 0 ? 0 : offset / image_.area();
  }
  [[nodiscard]] std::int64_t area() const { return gradient_.area(); }
  /// The place in the gradient of an element of the image; negative if it is not there, or outside of a window.
  [[nodiscard]] std::int64_t place(std::int64_t in_image, const Span& rows, const Span& columns) const {
    const std::int64_t row = in_image / image_.columns, column = in_image % image_.columns;
    const auto inside = [](const Span& span, std::int64_t at) { return at >= span.begin && at < span.end; };
    const bool there = inside(rows, row) && inside(columns, column) && inside({rows_, rows_ + gradient_.rows}, row) &&
                       inside({columns_, columns_ + gradient_.columns}, column);
    return there ? (row - rows_) * gradient_.columns + column - columns_ : -1;
  }

 private:
  Plane image_, gradient_;
  std::int64_t rows_ = 0, columns_ = 0;  // where the gradient begins, counted from where the image does
};

void max_pool_grad(KernelRun& run) {
  const Array &dy = run.inputs[0], &x = run.inputs[1], &dx = run.outputs[0];
  with_pooling(run, x, dy, [&](auto zero, const Pooling& pooling) {
    using T = decltype(zero);
    clear<T>(run, dx);
    const OtherPart part(x, dx);
    if (x.count() == 0 || dx.count() == 0) return;
    pooling.for_windows(run, [&](const Windows& windows, std::int64_t image, std::int64_t output) {
      const Largest<T, true> largest(pooling, x.as<const T>() + image, windows);
      T* to = dx.as<T>() + part.plane(image) * part.area();
      const T* from = dy.as<const T>() + output;
      for (std::int64_t r = 0; r < windows.rows; ++r, from += windows.columns) {
        const auto* places = largest.place + r * pooling.pitch();
        if (part.same()) {
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
    // From the last windows to the first: what is added to an element comes in the order of its taps, and so has the
    // same bits wherever blocks of windows end.
    pooling.for_windows(
        run,
        [&](const Windows& windows, std::int64_t image, std::int64_t output) {
          T share[kTogether];
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
