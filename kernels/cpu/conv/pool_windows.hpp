// The positions of the windows of a pooling in images, and the elements under them, for some rows of windows at a time.
#pragma once

#include <algorithm>

#include "kernels/cpu/conv/images.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/pooling.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {

/// `rows` rows of `columns` windows, from output position [row, column] on.
struct PooledWindows {
  std::int64_t row, rows, column, columns;
  [[nodiscard]] std::int64_t count() const { return rows * columns; }
};

/// The pooling of images of one size. The constructor finds the windows that have each tap inside the image.
class PlanePooling {
 public:
  /// The number of windows that are computed together: vectors are full, and the results stay in the first-level cache.
  static constexpr std::int64_t kTogether = 256;
  static constexpr std::int64_t kStaged = 4096;  ///< the most elements of the image under these windows that are staged
  static constexpr std::int64_t kVector = 8;

  PlanePooling(const KernelRun& run, const Array& images, const Array& outputs)
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

  /// Calls body(windows, offset of their image, offset of the first window among all outputs). Threads divide the
  /// images. The windows of an image come in order, or if `backwards` in reverse order.
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
          body(PooledWindows{row, std::min(rows_, output_.rows - row), column,
                             std::min(columns_, output_.columns - column)},
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

  /// The number of elements for the results of a row of windows: whole vectors if images are staged.
  [[nodiscard]] std::int64_t pitch() const { return pitch_; }
  [[nodiscard]] bool staged() const { return part_ > 0; }
  /// Whether the windows are squares of 2 × 2 elements inside the image that do not overlap.
  [[nodiscard]] bool by_squares() const { return squares_; }

  /// Copies the elements under some windows to `stage`. Columns are sorted by their remainder modulo the stride, so
  /// that the elements under one tap of a row of windows are consecutive. Padding becomes -inf; elements that only fill
  /// up vectors may be any number.
  template <class T>
  void fill_stage(const T* image, const PooledWindows& windows, T* stage) const {
    const std::int64_t rows = rows_under(windows.rows);
    const std::int64_t first_row = slide_.rows.position(windows.row, 0);
    const std::int64_t needed = windows.columns + (pool_.window.columns - 1) / stride();
    for (std::int64_t rest = 0; rest < stride(); ++rest, stage += stage_step()) {
      std::fill_n(stage + rows * part_, kVector, T(0));
      if (flat_) {
        copy_strided(image + first_row * image_.columns + rest, rows * part_, stride(), stage);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const to = stage + r * part_;
        fill_row(image, first_row + r, slide_.columns.position(windows.column, rest), stride(), needed, to);
        std::fill(to + needed, to + part_, T(0));
      }
    }
  }

  /// The number of rows of the image under `rows` rows of windows.
  [[nodiscard]] std::int64_t rows_under(std::int64_t rows) const {
    return (rows - 1) * slide_.rows.stride + pool_.window.rows;
  }

  /// Calls body(row, over, begun) for each row of the image under some windows. `over` is the range of rows of windows
  /// that contain `row`. The row of windows `begun` begins at `row`, unless `begun` is over.end.
  template <class Body>
  void for_rows_under(const PooledWindows& windows, const Body& body) const {
    Span over{0, 0};
    const std::int64_t stride = slide_.rows.stride, rows = rows_under(windows.rows);
    for (std::int64_t row = 0, next = 0, past = pool_.window.rows; row < rows; ++row) {
      const std::int64_t begun = over.end;
      if (row == next && over.end < windows.rows) ++over.end, next += stride;
      if (row == past) ++over.begin, past += stride;
      if (over.size() > 0) body(row, over, begun);
    }
  }

  /// Returns the first element under some windows without padding.
  template <class T>
  const T* first_under(const T* image, const PooledWindows& windows) const {
    return image + slide_.rows.position(windows.row, 0) * image_.columns + slide_.columns.position(windows.column, 0);
  }

  /// Returns row `row` under some windows, from the first tap of the first window on. This is a pointer into the image,
  /// or into a copy in `room` with -inf for padding. With a stride of at most 2, the caller may read whole vectors of
  /// windows.
  template <class T>
  const T* row_under(const T* image, const PooledWindows& windows, std::int64_t row, T* room) const {
    const std::int64_t at = slide_.rows.position(windows.row, 0) + row;
    const std::int64_t first = slide_.columns.position(windows.column, 0);
    const std::int64_t needed = (windows.columns - 1) * stride() + pool_.window.columns;
    const std::int64_t read = stride() > 2 ? needed : pitch_ * stride() + pool_.window.columns - 1;
    const std::int64_t place = at * image_.columns + first;
    if (at >= 0 && at < image_.rows && first >= 0 && first + needed <= image_.columns && place + read <= image_.area())
      return image + place;
    fill_row(image, at, first, 1, needed, room);
    std::fill(room + needed, room + read, T(0));
    return room;
  }

  /// Calls body(row of windows, place in the image of the tap of its first window, elements under the tap in the stage)
  /// for each row and tap.
  template <class T, class Body>
  void for_staged_rows(const PooledWindows& windows, const T* stage, const Body& body) const {
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

  /// For tap (u,v), calls body(place in the image, first window, end, stride) for each row of windows that has the tap
  /// inside the image. The windows [first, end) have it; consecutive windows' taps are `stride` apart.
  template <class Body>
  void for_rows(const PooledWindows& windows, std::int64_t u, std::int64_t v, const Body& body) const {
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

  /// Calls for_rows() for each tap.
  template <class Body>
  void for_tap_rows(const PooledWindows& windows, const Body& body) const {
    for_taps([&](std::int64_t u, std::int64_t v) { for_rows(windows, u, v, body); });
  }

  /// Calls body(window, rows, columns) for each of some windows, with the window's rows and columns that are inside the
  /// whole image. The task may hold only a part of that image.
  template <class Body>
  void for_each_window(const PooledWindows& windows, const Body& body) const {
    for (std::int64_t r = 0; r < windows.rows; ++r) {
      const Span rows = rows_of(windows.row + r);
      for (std::int64_t c = 0; c < windows.columns; ++c) {
        const Span columns = columns_of(windows.column + c);
        body(r * windows.columns + c, rows, columns);
      }
    }
  }

  /// The rows and columns of a window that are inside the whole image, counted from the beginning of this task's part.
  [[nodiscard]] Span rows_of(std::int64_t window) const { return dims_.rows.window_elements(window); }
  [[nodiscard]] Span columns_of(std::int64_t window) const { return dims_.columns.window_elements(window); }

 private:
  static constexpr std::int64_t kKept = 16;  // the number of columns of taps with a stored `inside_`

  [[nodiscard]] Span find(std::int64_t v) const { return slide_.columns.inside(v, image_.columns, output_.columns); }

  /// The number of elements of the stage between the columns of one remainder and the columns of the next.
  [[nodiscard]] std::int64_t stage_step() const { return rows_under(rows_) * part_ + kVector; }

  /// Chooses how many rows of windows are pooled together so that the elements under them can be staged. If the rows of
  /// the image can be copied as one long row, without padding, sets `flat_`.
  void cut_for_stage() {
    const auto up = [](std::int64_t n) { return (n + kVector - 1) / kVector * kVector; };
    const bool fits = rows_under(output_.rows) <= image_.rows &&
                      (output_.columns - 1) * stride() + pool_.window.columns <= image_.columns;
    squares_ = slide_.padding_free && fits && pool_.window == Plane{2, 2} && stride() == 2 && slide_.rows.stride == 2;
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

  /// Copies `needed` elements of a row, `stride` apart, from column `first` of the image on.
  template <class T>
  void fill_row(const T* image, std::int64_t row, std::int64_t first, std::int64_t stride, std::int64_t needed,
                T* to) const {
    const WindowSteps along{.stride = stride, .padding = -first};
    const Span inside = row < 0 || row >= image_.rows ? Span{} : along.inside(0, image_.columns, needed);
    std::fill(to, to + inside.begin, -math::kInf<T>);
    copy_strided(image + row * image_.columns + along.position(inside.begin, 0), inside.size(), stride,
                 to + inside.begin);
    std::fill(to + inside.end, to + needed, -math::kInf<T>);
  }

  const Pool& pool_;
  const Slide slide_;  // over this task's part
  const PooledDims dims_;
  const Plane image_, output_;
  const std::int64_t planes_;
  Span inside_[kKept];
  std::int64_t columns_, rows_;  // the columns and rows of windows that are computed together
  std::int64_t pitch_ = 0;
  std::int64_t part_ = 0;  // elements of a row in the stage, for one remainder; 0: there is no stage
  bool flat_ = false;
  bool squares_ = false;
};

}  // namespace ferry::cpu
