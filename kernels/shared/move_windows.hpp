// The ops CutHalo and Window of ops/control/comm.hpp. They read a value at shifted positions, while neighbours hold
// parts of the value. move_arrays.hpp describes a Mover.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "graph/types/halo.hpp"
#include "kernels/shared/element_bits.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/shared/strided_copy.hpp"

namespace ferry::moving {

/// The split dim of a value, and the rows of it that the window reads. The number of rows of the whole value is only
/// known at run time (with_size()).
struct DimHalo {
  std::size_t dim = 0;
  Halo halo;

  [[nodiscard]] Halo with_size(std::int64_t whole) const { return {whole, halo.parts, halo.reads}; }
};

inline DimHalo halo_of(const Attrs& attrs) {
  DimHalo of{static_cast<std::size_t>(attrs.get<std::int64_t>("dim")), {0, attrs.get<std::int64_t>("parts"), {}}};
  const auto& reads = attrs.get<Ints>("reads");
  for (std::size_t i = 0; i + 6 < reads.size(); i += 7)
    of.halo.reads.push_back(
        {reads[i], reads[i + 1], reads[i + 2], reads[i + 3], {reads[i + 4], reads[i + 5], reads[i + 6]}});
  return of;
}

inline Ints with_rows(std::span<const std::int64_t> sizes, std::size_t dim, std::int64_t rows) {
  Ints block(sizes.begin(), sizes.end());
  block[dim] = rows;
  return block;
}

inline std::unique_ptr<KernelState> prepare_halo(const KernelSetup& setup) {
  return keep(halo_of(setup.attrs));
}

// ---- CutHalo ----

template <class Mover>
void cut_halo(KernelRun& run) {
  const Array& x = run.inputs[0];
  const Array& y = run.outputs[0];
  if (y.count() == 0) return;
  const auto& given = kept<DimHalo>(run);
  const std::size_t dim = given.dim;
  const Halo halo = given.with_size(x.whole[dim]);
  const std::int64_t own = x.place[dim];
  const std::int64_t row = strides_of(x.sizes)[dim];
  std::int64_t listed = 0;
  for (std::int64_t other = 0; other < halo.parts; ++other) {
    const Part rows = halo.rows_between(own, other);
    if (other == own || rows.size == 0) continue;
    const Ints block = with_rows(x.sizes, dim, rows.size);
    StridedCopy copy = copy_of_block(block, x.sizes, block);
    copy.from_begin = (rows.begin - x.begin[dim]) * row;
    copy.to_begin = listed;
    Mover::copy(run, copy, x.dtype, x.data, y.data);
    listed += checked_count(block);
  }
}

// ---- Window ----

struct WindowState {
  Ints begin, step;
  DimHalo halo;
  ElementBits fill;
};

inline std::unique_ptr<KernelState> prepare_window(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(WindowState{attrs.get<Ints>("begin"), attrs.get<Ints>("step"), halo_of(attrs),
                          bits_of(setup.outputs[0].dtype, attrs.get<double>("value"))});
}

/// Elements [first, end) of a part of y along a dim.
struct PartSpan {
  std::int64_t first = 0, end = 0;
};

/// Copies elements to y from arrays that hold parts of x.
template <class Mover>
class WindowCopy {
 public:
  WindowCopy(const KernelRun& run, const WindowState& window)
      : run_(run), window_(window), y_(run.outputs[0]), steps_(strides_of(y_.sizes)), spans_(y_.sizes.size()) {}

  /// The sources of all elements of y.
  [[nodiscard]] Shifts shifts() const {
    Shifts made;
    std::memcpy(made.fill.data(), &window_.fill, sizeof window_.fill);
    const Array& x = run_.inputs[0];
    const std::size_t dim = window_.halo.dim;
    if (x.count() > 0) made.all.push_back(shift_from(x.sizes, dim, x.sizes.empty() ? 0 : x.begin[dim]));
    if (run_.inputs.size() < 2) return made;
    const Halo halo = window_.halo.with_size(x.whole[dim]);
    const std::int64_t own = x.place[dim];
    std::int64_t before = 0;
    for (std::int64_t other = 0; other < halo.parts; ++other) {
      const Part rows = halo.rows_between(other, own);
      if (other == own || rows.size == 0) continue;
      const Ints block = with_rows(x.sizes, dim, rows.size);
      made.all.push_back(shift_from(block, dim, rows.begin));
      made.all.back().input = 1;
      made.all.back().from += before;
      before += checked_count(block);
    }
    return made;
  }

  /// Copies the elements of one source.
  void copy(const Shift& shift) {
    StridedCopy copy;
    copy.from_begin = shift.from;
    for (std::size_t d = 0; d < shift.first.size(); ++d) {
      if (shift.first[d] == shift.last[d]) return;
      copy.from_begin += shift.first[d] * shift.step[d];
      copy.to_begin += shift.first[d] * steps_[d];
      copy.add_dim(shift.last[d] - shift.first[d], shift.step[d], steps_[d]);
    }
    Mover::copy(run_, copy, y_.dtype, run_.inputs[shift.input].data, y_.data);
  }

  /// Fills the elements outside x.
  void fill() {
    for (std::size_t d = 0; d < spans_.size(); ++d) spans_[d] = {0, y_.sizes[d]};
    for (std::size_t d = 0; d < spans_.size(); ++d) {
      const PartSpan inside = outputs_from(d, 0, run_.inputs[0].whole[d]);
      for (const PartSpan outside : {PartSpan{0, inside.first}, PartSpan{inside.end, y_.sizes[d]}}) {
        spans_[d] = outside;
        fill_box();
      }
      spans_[d] = inside;
    }
  }

 private:
  /// The elements of y that come from rows of x in an array of `sizes`. Along `dim`, the array begins with row
  /// `rows_begin` of x; along other dims, it begins where this task's part of x does.
  [[nodiscard]] Shift shift_from(std::span<const std::int64_t> sizes, std::size_t dim, std::int64_t rows_begin) const {
    const Strides from = strides_of(sizes);
    Shift shift;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t begin = d == dim ? rows_begin : run_.inputs[0].begin[d];
      const PartSpan span = outputs_from(d, begin, begin + sizes[d]);
      shift.first.push_back(span.first);
      shift.last.push_back(span.end);
      shift.step.push_back(window_.step[d] * from[d]);
      shift.from += (first(d) - begin) * from[d];
    }
    return shift;
  }

  /// The position in x, along dim d, of the first element of this part of y.
  [[nodiscard]] std::int64_t first(std::size_t d) const { return window_.begin[d] + y_.begin[d] * window_.step[d]; }

  /// The elements of this part of y that come from positions [begin, end) of x.
  [[nodiscard]] PartSpan outputs_from(std::size_t d, std::int64_t begin, std::int64_t end) const {
    const auto from = [&](std::int64_t at) {
      const std::int64_t past = at - first(d), step = window_.step[d];
      return std::clamp<std::int64_t>(past <= 0 ? 0 : (past + step - 1) / step, 0, y_.sizes[d]);
    };
    return {from(begin), from(std::max(begin, end))};
  }

  void fill_box() {
    StridedCopy copy;
    for (std::size_t d = 0; d < spans_.size(); ++d) {
      if (spans_[d].first >= spans_[d].end) return;
      copy.to_begin += spans_[d].first * steps_[d];
      copy.add_dim(spans_[d].end - spans_[d].first, 0, steps_[d]);
    }
    Mover::fill(run_, copy, y_.dtype, window_.fill, y_.data);
  }

  const KernelRun& run_;
  const WindowState& window_;
  const Array& y_;
  Strides steps_;
  std::vector<PartSpan> spans_;
};

template <class Mover>
void window(KernelRun& run) {
  if (run.outputs[0].count() == 0) return;
  WindowCopy<Mover> copies(run, kept<WindowState>(run));
  copies.fill();
  for (const Shift& shift : copies.shifts().all) copies.copy(shift);
}

}  // namespace ferry::moving
