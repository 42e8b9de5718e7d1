// Convolutions of images are computed in one of three ways:
// - Directly, for at least kLeastTargets channels: elements of the source are read in place and multiplied by a packed
// panel of filter channels. The sums stay in registers. Taps outside the image are skipped.
// - Plane by plane (depthwise), for fewer target channels of each source channel: vectors hold consecutive positions.
// - By columns (im2col): the elements under a tile of positions are copied into a matrix, which is multiplied by the
// filter.
//
// The division of the work depends only on the sizes, never on the number of threads. So the results have the same bits
// for any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/conv/images.hpp"
#include "kernels/cpu/conv/row_factor.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/convolution.hpp"

namespace ferry::cpu {

// ---- By columns (conv_columns.cpp); scratch in bytes for elements of `element` bytes ----

void convolve_by_columns(KernelRun& run, const Convolution& conv);
void image_gradient_by_columns(KernelRun& run, const Convolution& conv);
void filter_gradient_by_columns(KernelRun& run, const Convolution& conv);
/// `plain`: whether Convolution::plain() holds for all tasks.
[[nodiscard]] std::int64_t columns_scratch(const Convolution& conv, std::int64_t element, bool plain);
[[nodiscard]] std::int64_t image_gradient_columns_scratch(const Convolution& conv, std::int64_t element);
[[nodiscard]] std::int64_t filter_gradient_columns_scratch(const Convolution& conv, std::int64_t element);

// ---- Directly (conv_sweep.cpp, conv_direct.cpp) ----

constexpr std::int64_t kUnitPositions = 512;  // the most positions of a unit, so that their sums stay in the cache

/// The elements of the source that belong to each target, along one dim. Target t is at position `first` + t * `stride`
/// of the target image. Its tap j is at position t * `step` + taps[j] of the source, or outside the source.
struct Reach {
  std::int64_t size = 0;  ///< the size of the source
  std::int64_t targets = 0, first = 0, stride = 1, step = 1;
  std::vector<std::int64_t> taps;    ///< evenly spaced
  std::vector<std::int64_t> filter;  ///< the position of each tap in the filter

  [[nodiscard]] bool inside(std::int64_t target, std::int64_t tap) const {
    const std::int64_t at = target * step + taps[static_cast<std::size_t>(tap)];
    return 0 <= at && at < size;
  }
  /// The taps of a target that are inside the source.
  [[nodiscard]] Span taps_of(std::int64_t target) const;
  /// The targets of `among` with `tap` inside the source, counted from among.begin.
  [[nodiscard]] Span targets_of(std::int64_t tap, Span among) const;
};

/// A range of rows of target positions.
struct Unit {
  std::int64_t number, begin, rows;
};

/// The target positions that have the same taps of the filter. These are all positions, or in an image's gradient the
/// positions with the same remainder modulo the strides. They are computed in units of some rows; a unit may have
/// several small images.
struct Sweep {
  Reach rows, columns;
  std::int64_t row_step = 0;  ///< elements of a source channel between the source rows of consecutive target rows
  std::int64_t unit_rows = 1, units = 1;
  std::int64_t images = 1;            ///< the images of a unit; several if a unit has whole images
  bool at_once = false;               ///< whether a unit has all images; then the filter is packed while it is used
  std::vector<std::int64_t> targets;  ///< the offset of each position of an image in the target; empty: consecutive
  std::vector<std::int64_t> filter;   ///< the offset of each tap in the filter, channel by channel
  std::int64_t run = 1;               ///< `filter` consists of runs of `run` consecutive offsets
  std::int64_t parts = 1;             ///< the number of parts into which the filter is divided in its gradient
  std::vector<RowFactor> factors;     ///< `parts` for each kind of unit; kinds differ in the taps outside the image
  std::vector<std::int64_t> kinds;    ///< the kind of each unit

  [[nodiscard]] std::int64_t depth() const { return std::ssize(filter); }
  [[nodiscard]] Unit unit(std::int64_t number) const {
    const std::int64_t begin = number * unit_rows;
    return {number, begin, std::min(unit_rows, rows.targets - begin)};
  }
  /// The number of positions of one image in a unit.
  [[nodiscard]] std::int64_t positions() const { return unit_rows * columns.targets; }
  [[nodiscard]] const RowFactor& factor(std::int64_t unit, std::int64_t part = 0) const {
    return factors[static_cast<std::size_t>(kinds[static_cast<std::size_t>(unit)] * parts + part)];
  }
};

/// A convolution or an image's gradient that is computed directly. It maps the source's channels to the target's
/// channels.
struct DirectConv {
  std::int64_t images = 0;                            ///< the largest number of images
  std::int64_t groups = 1, sources = 0, targets = 0;  ///< groups, and the channels of a group
  std::int64_t filter_step = 0;                       ///< elements of the filter between consecutive target channels
  Plane source, target;
  bool packed = false;  ///< input 2 is the packed filter; then no sweep is `at_once`
  std::vector<Sweep> sweeps;
};

/// The least number of target channels for the direct way, which has a vector of target channels.
constexpr std::int64_t kLeastTargets = 8;

/// Filters with more taps are computed by columns. The direct way keeps, for each tap, lists of the positions where the
/// tap is outside the image.
constexpr std::int64_t kMostTaps = 256;

/// `packed`: sets DirectConv::packed.
[[nodiscard]] DirectConv direct_convolution(const Convolution& conv, bool packed);
[[nodiscard]] DirectConv direct_image_gradient(const Convolution& conv);
[[nodiscard]] DirectConv direct_filter_gradient(const Convolution& conv);
/// Set Sweep::factors for convolve_directly() and filter_gradient_directly(). The scratch sizes do not depend on the
/// factors.
void find_rows_of_positions(DirectConv& conv);
void find_rows_of_taps(DirectConv& conv);
/// The number of elements of the filters of all groups, packed for convolve_directly().
[[nodiscard]] std::int64_t packed_filter_elements(const DirectConv& conv, DType dtype);
/// The same, from the filter's type. Dim 0, the target channels, is cut into `groups` equal groups.
[[nodiscard]] std::int64_t packed_filter_elements(const Type& filter, std::int64_t groups);
/// Computes output 0, the packed filter, from input 0, the filter of a convolution in `groups` groups.
void pack_filter(KernelRun& run, std::int64_t groups);
/// Computes output 0 from input 0, the source, and input 1, the filter.
void convolve_directly(KernelRun& run, const DirectConv& conv);
/// Computes output 0, the filter's gradient, from input 0, the gradient of the output of `conv`, and input 1, its
/// source.
void filter_gradient_directly(KernelRun& run, const DirectConv& conv);
/// `apart`: the scratch is for an image's gradient, and the parts of different tasks begin at different remainders
/// modulo the strides.
[[nodiscard]] std::int64_t direct_scratch(const DirectConv& conv, DType dtype, bool apart = false);
[[nodiscard]] std::int64_t filter_gradient_direct_scratch(const DirectConv& conv, DType dtype);

// ---- Plane by plane (conv_planes.cpp) ----

/// A convolution with one source channel in each group.
struct PlaneConv {
  Convolution conv;
  Plane block = {};       ///< the output positions that are computed together
  Plane remainders = {};  ///< the number of remainders modulo the strides that taps have; the stage has one after
                          ///< another
  Plane part = {};        ///< the rows and columns of the stage for one remainder
  std::vector<std::int64_t> offsets;  ///< the offset of each tap in the stage
};

/// Returns nullopt if even a few positions read too many elements for staging to help.
[[nodiscard]] std::optional<PlaneConv> plane_convolution(const Convolution& conv);
void convolve_planes(KernelRun& run, const PlaneConv& planes);

}  // namespace ferry::cpu
