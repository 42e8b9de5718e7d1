// Convolutions and their gradients as products of matrices: a filter times what lies under it, which is read where it
// lies in the image.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "kernels/convolution.hpp"
#include "kernels/cuda/divider.hpp"
#include "kernels/cuda/product/matrices.hpp"

namespace ferry::cuda {

/// Which elements of a source belong to which targets along one dim. Target t is at position `first` + t * `stride` of
/// the target image. Its tap a is at position t * `step` + `from` + a * `from_step` of the source, or outside of it,
/// and at `filter` + a * `filter_step` of the filter.
struct TapReach {
  std::int32_t targets = 0, first = 0, stride = 1;
  std::int32_t taps = 0, step = 1, from = 0, from_step = 1;
  std::int32_t filter = 0, filter_step = 1;
};

/// A convolution along one dim.
struct ConvDim {
  ConvDim(std::int64_t image_size, std::int64_t output_size, std::int64_t filter_size, const WindowSteps& steps)
      : image(static_cast<std::int32_t>(image_size)),
        outputs(static_cast<std::int32_t>(output_size)),
        taps(static_cast<std::int32_t>(filter_size)),
        stride(static_cast<std::int32_t>(steps.stride)),
        padding(static_cast<std::int32_t>(steps.padding)),
        dilation(static_cast<std::int32_t>(steps.dilation)),
        common(std::gcd(stride, dilation)) {
    if (image_size + std::abs(steps.padding) + filter_size * steps.dilation > std::numeric_limits<int>::max())
      throw Error(Code::plan, "a convolution has an image with a padded dim of more than 2147483647");
  }

  /// Of the convolution: each tap at each output.
  [[nodiscard]] constexpr TapReach forward() const {
    return {.targets = outputs, .taps = taps, .step = stride, .from = -padding, .from_step = dilation};
  }
  /// Of the image's gradient, at positions first, first + stride, …, which have the same taps: the outputs that have
  /// these positions under a tap.
  [[nodiscard]] constexpr TapReach backward(std::int32_t first) const {
    TapReach reach{.targets = (image - first + stride - 1) / stride, .first = first, .stride = stride};
    std::int32_t tap = 0;
    while (tap < taps && (first + padding - tap * dilation) % stride != 0) ++tap;
    reach.filter_step = stride / common;
    reach.filter = tap;
    reach.taps = (taps - tap + reach.filter_step - 1) / reach.filter_step;
    reach.from = (first + padding - tap * dilation) / stride;
    reach.from_step = -dilation / common;
    return reach;
  }
  /// How many there are of these.
  [[nodiscard]] constexpr std::int32_t remainders() const { return std::min(stride, image); }

  std::int32_t image, outputs, taps, stride, padding, dilation;
  std::int32_t common;  ///< the largest divisor of stride and dilation
};

/// Targets with the same taps, in both dims.
struct ConvReach {
  constexpr ConvReach(const TapReach& row_reach, const TapReach& column_reach)
      : rows(row_reach),
        columns(column_reach),
        by_taps(at_least_one(rows.taps * columns.taps)),
        by_tap_columns(at_least_one(columns.taps)),
        by_targets(at_least_one(rows.targets * columns.targets)),
        by_target_columns(at_least_one(columns.targets)) {}
  [[nodiscard]] static constexpr std::uint32_t at_least_one(std::int32_t n) {
    return static_cast<std::uint32_t>(std::max(1, n));
  }
  TapReach rows, columns;
  Divider by_taps, by_tap_columns, by_targets, by_target_columns;
};

/// Factors of multiply(): of a convolution, or backward of its image's gradient. There is one product for each group
/// and targets with the same taps.
template <class Pixels, class Filter, class Out>
class ConvFactors {
 public:
  using Sum = typename Pixels::Value;

  ConvFactors(const Convolution& conv, bool is_backward, const Pixels& pixels, const Filter& weights, Out* out)
      : source(pixels),
        filter(weights),
        target(out),
        rows(conv.image.rows, conv.output.rows, conv.filter.rows, conv.slide.rows),
        columns(conv.image.columns, conv.output.columns, conv.filter.columns, conv.slide.columns),
        backward(is_backward),
        images(static_cast<Index>(conv.images)),
        groups(static_cast<Index>(conv.groups)),
        sources(static_cast<Index>(is_backward ? conv.out : conv.in)),
        targets(static_cast<Index>(is_backward ? conv.in : conv.out)),
        source_plane(is_backward ? conv.output : conv.image),
        target_plane(is_backward ? conv.image : conv.output),
        filter_source(is_backward ? conv.depth() : conv.taps()),
        filter_target(is_backward ? conv.taps() : conv.depth()),
        filter_group(conv.out * conv.depth()),
        reach(is_backward ? ConvReach(rows.backward(0), columns.backward(0))
                          : ConvReach(rows.forward(), columns.forward())) {}

  /// Part of the image, of one group, as far as it lies under the filter at a target.
  struct Window {
    typename Pixels::Line from;
    std::int32_t row, column;  ///< of the first tap
  };
  /// Elements of all channels at one position.
  struct Column {
    FERRY_DEVICE void store(Index i, Sum sum) const { to[i * step] = stored_as<Out>(sum); }
    Out* to;
    std::int64_t step;
  };
  struct Place {
    Index image;
    std::int32_t row, column;
  };

  class One {
   public:
    FERRY_DEVICE One(const ConvFactors& factors, Index of_group, const ConvReach& targets)
        : m(factors.targets),
          n(factors.images * static_cast<Index>(targets.rows.targets * targets.columns.targets)),
          k(factors.sources * static_cast<Index>(targets.rows.taps * targets.columns.taps)),
          all(factors),
          group(of_group),
          here(targets) {}

    [[nodiscard]] FERRY_DEVICE bool left_along_k() const { return !all.backward || all.filter_target > 1; }
    [[nodiscard]] FERRY_DEVICE static bool right_along_k() { return false; }
    [[nodiscard]] FERRY_DEVICE typename Filter::Line left(Index i) const {
      return all.filter.line(group * all.filter_group + i * all.filter_target, group * all.targets + i);
    }
    [[nodiscard]] FERRY_DEVICE Sum left_at(const typename Filter::Line& line, Index p) const {
      if (!all.backward) return all.filter.at(line, p);
      const Place tap = tap_of(p);
      const std::int32_t row = here.rows.filter + tap.row * here.rows.filter_step;
      const std::int32_t column = here.columns.filter + tap.column * here.columns.filter_step;
      return all.filter.at(line, tap.image * all.filter_source + row * all.columns.taps + column);
    }
    [[nodiscard]] FERRY_DEVICE Window right(Index j) const {
      const Place at = place_of(j);
      const std::int64_t channel = (static_cast<std::int64_t>(at.image) * all.groups + group) * all.sources;
      return {all.source.line(channel * all.source_plane.area(), 0), at.row * here.rows.step + here.rows.from,
              at.column * here.columns.step + here.columns.from};
    }
    [[nodiscard]] FERRY_DEVICE Sum right_at(const Window& window, Index p) const {
      const Place tap = tap_of(p);
      const std::int32_t row = window.row + tap.row * here.rows.from_step;
      const std::int32_t column = window.column + tap.column * here.columns.from_step;
      if (row < 0 || row >= all.source_plane.rows || column < 0 || column >= all.source_plane.columns) return Sum(0);
      return all.source.at(window.from, (tap.image * all.source_plane.rows + row) * all.source_plane.columns + column);
    }
    [[nodiscard]] FERRY_DEVICE Column column(Index j) const {
      const Place at = place_of(j);
      const std::int64_t channel = (static_cast<std::int64_t>(at.image) * all.groups + group) * all.targets;
      const std::int64_t row = here.rows.first + static_cast<std::int64_t>(at.row) * here.rows.stride;
      return {all.target + (channel * all.target_plane.rows + row) * all.target_plane.columns + here.columns.first +
                  static_cast<std::int64_t>(at.column) * here.columns.stride,
              all.target_plane.area()};
    }

    Index m, n, k;

   private:
    /// Step p along k: a channel of the group's, which counts as an image, and a tap.
    [[nodiscard]] FERRY_DEVICE Place tap_of(Index p) const { return split(p, here.by_taps, here.by_tap_columns); }
    [[nodiscard]] FERRY_DEVICE Place place_of(Index j) const {
      return split(j, here.by_targets, here.by_target_columns);
    }
    [[nodiscard]] FERRY_DEVICE static Place split(Index number, const Divider& area, const Divider& columns) {
      const Index image = area.quotient(number), rest = area.remainder(number, image), row = columns.quotient(rest);
      return {image, static_cast<std::int32_t>(row), static_cast<std::int32_t>(columns.remainder(rest, row))};
    }

    const ConvFactors& all;
    Index group;
    ConvReach here;
  };

  [[nodiscard]] FERRY_DEVICE One one(std::int64_t number) const {
    const auto remainder = static_cast<Index>(number) / groups, group = static_cast<Index>(number) % groups;
    if (remainder == 0) return One(*this, group, reach);
    const auto across = static_cast<Index>(columns.remainders());
    return One(*this, group,
               ConvReach(rows.backward(static_cast<std::int32_t>(remainder / across)),
                         columns.backward(static_cast<std::int32_t>(remainder % across))));
  }

 private:
  Pixels source;
  Filter filter;
  Out* target;
  ConvDim rows, columns;
  bool backward;
  Index images, groups, sources, targets;  ///< channels of a group
  Plane source_plane, target_plane;
  std::int64_t filter_source, filter_target, filter_group;  ///< elements of the filter from a channel or group to next
  ConvReach reach;                                          ///< of the first targets with the same taps
};

/// The state of the kernels of convolutions.
struct ConvState {
  Slide slide;
  std::int64_t groups = 1;
};
[[nodiscard]] std::unique_ptr<KernelState> keep_conv(const KernelSetup& setup, const ConvOperands& of);

/// `backward`: of the image's gradient.
[[nodiscard]] ProductShape shape_of(const Convolution& conv, bool backward);

}  // namespace ferry::cuda
