// Convolutions of images are computed in one of three ways:
// - Directly, for at least kLeastTargets channels: elements of the source are read in place and multiplied by a packed
// panel of filter channels. The sums stay in registers. Taps outside the image are skipped.
// - Plane by plane (depthwise), for fewer target channels of each source channel. Vectors hold consecutive positions
// or, if the output is too narrow for that, channels.
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
    const std::int64_t at = target * step + taps[tap];
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
    return factors[kinds[unit] * parts + part];
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
  bool plain = false;   ///< the filter is 1 × 1, and each position of the source is a position of the target
  std::vector<Sweep> sweeps;
};

/// The least number of target channels for the direct way, which has a vector of target channels.
constexpr std::int64_t kLeastTargets = 8;

/// Filters with more taps are computed by columns. The direct way keeps, for each tap, lists of the positions where the
/// tap is outside the image.
constexpr std::int64_t kMostTaps = 256;

/// Filters of one source channel with at most this many taps are computed plane by plane, which takes 0.6 to 0.85 of
/// the direct way's time. With 49 taps and a stride of 2 it takes 1.6 times as long.
constexpr std::int64_t kFewTaps = 25;

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

// ---- Plane by plane (conv_planes.cpp, conv_channels.cpp) ----

/// A convolution with one source channel in each group. A plane is one channel of an image. The output is cut into
/// blocks. The elements of the source under a block, with zeros around the image, are copied into a stage.
struct PlaneConv {
  Convolution conv;
  Plane blocks{1, 1};                 ///< the number of blocks along each dim
  Plane part = {};                    ///< the rows and columns of the stage, or of its part for one remainder
  std::vector<std::int64_t> offsets;  ///< the offset of each tap in the stage

  // If vectors hold positions:
  Plane remainders{1, 1};  ///< the remainders modulo the strides that taps have; the stage has a part for each

  // If vectors hold channels:
  std::vector<std::int64_t> from, to;  ///< for each position of a block: its first tap, and its place among the sums

  [[nodiscard]] bool by_channels() const { return !from.empty(); }
  [[nodiscard]] std::int64_t planes(const KernelRun& run) const { return run.inputs[0].sizes[0] * conv.groups; }
  /// The rows (columns) of block number `i` along the dim.
  [[nodiscard]] Span rows(std::int64_t i) const {
    return {conv.output.rows * i / blocks.rows, conv.output.rows * (i + 1) / blocks.rows};
  }
  [[nodiscard]] Span columns(std::int64_t i) const {
    return {conv.output.columns * i / blocks.columns, conv.output.columns * (i + 1) / blocks.columns};
  }
};

/// The least number of positions that a thread computes at once, so that starting it is worthwhile.
constexpr std::int64_t kLeastPositions = 4096;

/// The number of rows (columns) of the source under `outputs` adjacent outputs, for a filter with `taps` rows.
[[nodiscard]] inline std::int64_t elements_under(const WindowSteps& steps, std::int64_t taps, std::int64_t outputs) {
  return (outputs - 1) * steps.stride + (taps - 1) * steps.dilation + 1;
}

/// Returns nullopt if even a few positions read too many elements for staging to help.
[[nodiscard]] std::optional<PlaneConv> plane_convolution(const Convolution& conv);
/// The same with vectors of channels. Returns nullopt if even one row does not fit.
[[nodiscard]] std::optional<PlaneConv> channel_convolution(const Convolution& conv);
void convolve_planes(KernelRun& run, const PlaneConv& planes);
void convolve_channels(KernelRun& run, const PlaneConv& planes);
/// Computes output 0, the filter's gradient, from input 0, the gradient of the output, and input 1, the image. There is
/// one target channel for each source channel.
void filter_gradient_by_planes(KernelRun& run, const PlaneConv& planes);
void filter_gradient_by_channels(KernelRun& run, const PlaneConv& planes);

}  // namespace ferry::cpu
