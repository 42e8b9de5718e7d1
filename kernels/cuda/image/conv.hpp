// Convolutions and their gradients as products of matrices: a filter times the image elements under it. The product
// reads these elements in the image, and does not copy them to a matrix first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/divide.hpp"
#include "kernels/cuda/image/by_library.hpp"
#include "kernels/cuda/product/matrices.hpp"
#include "kernels/shared/convolution.hpp"

namespace ferry::cuda {

/// The elements of a source that contribute to each target, along one dim. Target t is at position `first` + t *
/// `stride` of the target image. Its tap a is at position t * `step` + `from` + a * `from_step` of the source (or
/// outside of it), and at `filter` + a * `filter_step` of the filter.
struct TapReach {
  std::int32_t targets, first, stride;
  std::int32_t taps, step, from, from_step;
  std::int32_t filter, filter_step;
};

/// Targets with the same taps.
struct ConvReach {
  ConvReach(const TapReach& row_reach, const TapReach& column_reach)
      : rows(row_reach),
        columns(column_reach),
        by_taps(divider(rows.taps * columns.taps)),
        by_tap_columns(divider(columns.taps)),
        by_targets(divider(rows.targets * columns.targets)),
        by_target_columns(divider(columns.targets)) {}
  [[nodiscard]] static Divider divider(std::int64_t n) {
    return Divider(static_cast<std::uint32_t>(std::max<std::int64_t>(1, n)));
  }
  TapReach rows, columns;
  Divider by_taps, by_tap_columns, by_targets, by_target_columns;
};

/// The reaches of a convolution, or, if `backward`, of its image's gradient. A convolution has one. The gradient has
/// one for each remainder of a position modulo the strides, because other taps reach these positions.
[[nodiscard]] std::vector<ConvReach> reaches_of(const Convolution& conv, bool backward);

/// Factors of multiply(): the targets of one reach, one product for each group.
template <class Pixels, class Filter, class Out>
class ConvFactors {
 public:
  using Sum = typename Pixels::Value;

  ConvFactors(const Convolution& conv, bool is_backward, const ConvReach& of, const Pixels& pixels,
              const Filter& weights, Out* out)
      : source(pixels),
        filter(weights),
        target(out),
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
        filter_columns(static_cast<std::int32_t>(conv.filter.columns)),
        here(of) {}

  /// The part of the image, of one group, that is under the filter at a target.
  struct Window {
    typename Pixels::Line from;
    std::int32_t row, column;  ///< of the first tap
  };
  /// The elements of all target channels at one position.
  struct Column {
    FERRY_DEVICE void store(Index i, Sum sum) const { to[i * step] = stored_as<Out>(sum); }
    Out* to;
    std::int64_t step;
  };
  struct Place {
    Index image;
    std::int32_t row, column;
  };

  struct One {
    [[nodiscard]] FERRY_DEVICE bool left_along_k() const { return !all.backward || all.filter_target > 1; }
    [[nodiscard]] FERRY_DEVICE static bool right_along_k() { return false; }
    [[nodiscard]] FERRY_DEVICE typename Filter::Line left(Index i) const {
      return all.filter.line(group * all.filter_group + i * all.filter_target, group * all.targets + i);
    }
    [[nodiscard]] FERRY_DEVICE Sum left_at(const typename Filter::Line& line, Index p) const {
      if (!all.backward) return all.filter.at(line, p);
      const Place tap = tap_of(p);
      const std::int32_t row = all.here.rows.filter + tap.row * all.here.rows.filter_step;
      const std::int32_t column = all.here.columns.filter + tap.column * all.here.columns.filter_step;
      return all.filter.at(line, tap.image * all.filter_source + row * all.filter_columns + column);
    }
    [[nodiscard]] FERRY_DEVICE Window right(Index j) const {
      const Place at = place_of(j);
      const std::int64_t channel = (static_cast<std::int64_t>(at.image) * all.groups + group) * all.sources;
      return {all.source.line(channel * all.source_plane.area(), 0), at.row * all.here.rows.step + all.here.rows.from,
              at.column * all.here.columns.step + all.here.columns.from};
    }
    [[nodiscard]] FERRY_DEVICE Sum right_at(const Window& window, Index p) const {
      const Place tap = tap_of(p);
      const std::int32_t row = window.row + tap.row * all.here.rows.from_step;
      const std::int32_t column = window.column + tap.column * all.here.columns.from_step;
      if (row < 0 || row >= all.source_plane.rows || column < 0 || column >= all.source_plane.columns) return Sum(0);
      return all.source.at(window.from, (tap.image * all.source_plane.rows + row) * all.source_plane.columns + column);
    }
    [[nodiscard]] FERRY_DEVICE Column column(Index j) const {
      const Place at = place_of(j);
      const std::int64_t channel = (static_cast<std::int64_t>(at.image) * all.groups + group) * all.targets;
      const std::int64_t row = all.here.rows.first + static_cast<std::int64_t>(at.row) * all.here.rows.stride;
      return {all.target + (channel * all.target_plane.rows + row) * all.target_plane.columns + all.here.columns.first +
                  static_cast<std::int64_t>(at.column) * all.here.columns.stride,
              all.target_plane.area()};
    }

    const ConvFactors& all;
    Index group, m, n, k;

   private:
    /// The source channel and the tap of step p along k. Place::image is the channel's number in its group.
    [[nodiscard]] FERRY_DEVICE Place tap_of(Index p) const {
      return split(p, all.here.by_taps, all.here.by_tap_columns);
    }
    [[nodiscard]] FERRY_DEVICE Place place_of(Index j) const {
      return split(j, all.here.by_targets, all.here.by_target_columns);
    }
    [[nodiscard]] FERRY_DEVICE static Place split(Index number, const Divider& area, const Divider& columns) {
      const Index image = area.quotient(number), rest = area.remainder(number, image), row = columns.quotient(rest);
      return {image, static_cast<std::int32_t>(row), static_cast<std::int32_t>(columns.remainder(rest, row))};
    }
  };

  [[nodiscard]] FERRY_DEVICE One one(std::int64_t group) const {
    return {*this, static_cast<Index>(group), targets,
            images * static_cast<Index>(here.rows.targets * here.columns.targets),
            sources * static_cast<Index>(here.rows.taps * here.columns.taps)};
  }

 private:
  Pixels source;
  Filter filter;
  Out* target;
  bool backward;
  Index images, groups, sources, targets;  ///< sources, targets: numbers of channels of a group
  Plane source_plane, target_plane;
  std::int64_t filter_source, filter_target, filter_group;  ///< distances in the filter: source and target channels,
                                                            ///< groups
  std::int32_t filter_columns;
  ConvReach here;
};

/// The state of the kernels of convolutions.
struct ConvState final : KernelState {
  ConvState(const Slide& slides, std::int64_t group_count) : slide(slides), groups(group_count) {}
  Slide slide;
  std::int64_t groups;
  ConvByLibrary by_library;
};
[[nodiscard]] std::unique_ptr<KernelState> keep_conv(const KernelSetup& setup, const ConvOperands& of);
[[nodiscard]] inline ConvState& conv_state(const KernelRun& run) {
  return *static_cast<ConvState*>(run.state);
}

/// The bytes of a sum of products of floats. Sums of 16-bit floats are float32.
[[nodiscard]] inline std::size_t sum_bytes(const KernelSetup& setup) {
  return setup.outputs[0].dtype == DType::float64 ? sizeof(double) : sizeof(float);
}

/// A shape that is at least as large as the product of each reach, wherever the task's parts begin. So the size of the
/// scratch does not depend on the parts.
[[nodiscard]] ProductShape shape_of(const Convolution& conv, bool backward);

}  // namespace ferry::cuda
