// The convolution of images in two ways. Directly: sums of products of source elements, read where they lie, and a
// panel of channels, in registers; for at least kWide channels. Taps outside of the image are left out. And by columns:
// the taps under a tile of positions are copied into a matrix, which is multiplied by the filter.
//
// How the work is cut depends on the sizes alone, never on the number of threads: so do the bits.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/images.hpp"
#include "kernels/cpu/conv/row_factor.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

constexpr std::int64_t kConvLanes = 8;  // that work at once, each with scratch of its own

/// The sizes of a convolution, of one group.
struct Convolution {
  std::int64_t images = 0, groups = 1;
  std::int64_t in = 0, out = 0;  ///< channels
  Plane image, filter, output;
  Slide slide;

  [[nodiscard]] std::int64_t taps() const { return filter.area(); }
  /// Rows of the matrix of columns.
  [[nodiscard]] std::int64_t depth() const { return in * taps(); }
  /// Whether the matrix of columns is the image itself.
  [[nodiscard]] bool plain() const {
    return taps() == 1 && slide.rows.stride == 1 && slide.columns.stride == 1 && slide.padding_free;
  }
};

/// Calls body(item, scratch) for each of `items`, in lanes with `lane_elements` each of `scratch`.
template <class T, class Body>
void in_lanes(const KernelRun& run, std::int64_t items, T* scratch, std::int64_t lane_elements, const Body& body) {
  const std::int64_t lanes = std::min(items, kConvLanes);
  for_chunks(run.parallel, lanes, 1, [&](std::int64_t lane, std::int64_t) {
    for (std::int64_t item = items * lane / lanes; item < items * (lane + 1) / lanes; ++item)
      body(item, scratch + lane * lane_elements);
  });
}

// ---- By columns (conv_columns.cpp); scratch in bytes for elements of `element` bytes ----

void convolve_by_columns(KernelRun& run, const Convolution& conv);
void image_gradient_by_columns(KernelRun& run, const Convolution& conv);
void filter_gradient_by_columns(KernelRun& run, const Convolution& conv);
[[nodiscard]] std::int64_t columns_scratch(const Convolution& conv, std::int64_t element);
[[nodiscard]] std::int64_t image_gradient_columns_scratch(const Convolution& conv, std::int64_t element);
[[nodiscard]] std::int64_t filter_gradient_columns_scratch(const Convolution& conv, std::int64_t element);

// ---- Directly (conv_sweep.cpp, conv_direct.cpp) ----

constexpr std::int64_t kUnitPositions = 512;  // whose sums stay in the cache

/// How targets reach into the source along one dim: target position t lies at `first` + t * `stride`, and its tap j at
/// t * `step` + taps[j] of the source, or outside of it.
struct Reach {
  std::int64_t size = 0;  ///< of the source
  std::int64_t targets = 0, first = 0, stride = 1, step = 1;
  std::vector<std::int64_t> taps;    ///< evenly apart
  std::vector<std::int64_t> filter;  ///< where the filter has the tap

  [[nodiscard]] bool inside(std::int64_t target, std::int64_t tap) const {
    const std::int64_t at = target * step + taps[static_cast<std::size_t>(tap)];
    return 0 <= at && at < size;
  }
  /// The taps of a target that lie in the source.
  [[nodiscard]] Span taps_of(std::int64_t target) const;
  /// The targets of `among` whose tap lies in the source, counted from among.begin.
  [[nodiscard]] Span targets_of(std::int64_t tap, Span among) const;
};

/// Some rows of target positions.
struct Unit {
  std::int64_t number, begin, rows;
};

/// Target positions that have the same taps of the filter: all of them, or in a gradient one of each stride. They are
/// computed some rows at a time, the unit; small images some together.
struct Sweep {
  Reach rows, columns;
  std::int64_t row_step = 0;  ///< of a source channel, from one target row to the next
  std::int64_t unit_rows = 1, units = 1;
  std::int64_t images = 1;            ///< of a unit; several when one image is one unit
  bool at_once = false;               ///< of all images, for which the filter is packed as it is used
  std::vector<std::int64_t> targets;  ///< where an image's positions lie in the target; empty: one after another
  std::vector<std::int64_t> filter;   ///< and where the filter has the taps, channel by channel
  std::int64_t run = 1;               ///< so many of these lie one after another
  std::int64_t parts = 1;             ///< of the filter, in its gradient
  std::vector<RowFactor> factors;     ///< of units that differ by the taps outside of the image; `parts` for each
  std::vector<std::int64_t> kinds;    ///< of each unit's factors

  [[nodiscard]] std::int64_t depth() const { return std::ssize(filter); }
  [[nodiscard]] Unit unit(std::int64_t number) const {
    const std::int64_t begin = number * unit_rows;
    return {number, begin, std::min(unit_rows, rows.targets - begin)};
  }
  /// The positions of one image in a unit.
  [[nodiscard]] std::int64_t positions() const { return unit_rows * columns.targets; }
  [[nodiscard]] const RowFactor& factor(std::int64_t unit, std::int64_t part = 0) const {
    return factors[static_cast<std::size_t>(kinds[static_cast<std::size_t>(unit)] * parts + part)];
  }
};

/// The target's channels from the source's, in one group: the convolution, or its image's gradient.
struct DirectConv {
  std::int64_t images = 0;                            ///< at most
  std::int64_t groups = 1, sources = 0, targets = 0;  ///< channels
  std::int64_t filter_step = 0;                       ///< from one target channel to the next
  Plane source, target;
  bool packed = false;  ///< input 2 is the filter, packed: no sweep is at once
  std::vector<Sweep> sweeps;
};

/// Channels along which vectors lie, from which on the direct way is worth while.
constexpr std::int64_t kWide = 8;

/// Filters with more taps are not taken: each tap may lie outside of the image at other positions, which are kept as
/// lists.
constexpr std::int64_t kMostTaps = 256;

/// `packed`: sets DirectConv::packed.
[[nodiscard]] DirectConv direct_convolution(const Convolution& conv, bool packed);
[[nodiscard]] DirectConv direct_image_gradient(const Convolution& conv);
[[nodiscard]] DirectConv direct_filter_gradient(const Convolution& conv);
/// Find what convolve_directly() and filter_gradient_directly() need besides; the scratch sizes do not depend on it.
void find_rows_of_positions(DirectConv& conv);
void find_rows_of_taps(DirectConv& conv);
/// Elements of the filters of all groups, packed for convolve_directly().
[[nodiscard]] std::int64_t packed_filter_elements(const DirectConv& conv, DType dtype);
/// The same from the filter's type; dim 0, the target channels, is cut into `groups` equal groups.
[[nodiscard]] std::int64_t packed_filter_elements(const Type& filter, std::int64_t groups);
/// Output 0, packed, from input 0, the filter of a convolution in `groups` groups.
void pack_filter(KernelRun& run, std::int64_t groups);
/// Output 0 from inputs 0, the source, and 1, the filter.
void convolve_directly(KernelRun& run, const DirectConv& conv);
/// Output 0, the filter's gradient, from inputs 0, the gradient of what `conv` gives, and 1, its source.
void filter_gradient_directly(KernelRun& run, const DirectConv& conv);
[[nodiscard]] std::int64_t direct_scratch(const DirectConv& conv, DType dtype);
[[nodiscard]] std::int64_t filter_gradient_direct_scratch(const DirectConv& conv, DType dtype);

}  // namespace ferry::cpu
