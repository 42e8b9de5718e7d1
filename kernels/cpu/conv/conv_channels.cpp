// Convolution of planes with vectors of channels, for narrow outputs. Sixteen planes are transposed into the stage and
// their sums are transposed back.
#include <algorithm>

#include "kernels/cpu/conv/conv.hpp"
#include "kernels/cpu/conv/depthwise_tile.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kStagedRuns = 512;  // the most runs of a stage: they fit in the second-level cache

template <class T>
class ChannelWork {
 public:
  ChannelWork(const KernelRun& run, const PlaneConv& planes, const Array& images)
      : run_(run), planes_(planes), conv_(planes.conv), images_(images.as<const T>()) {}

  void convolve() const {
    const std::int64_t blocks = planes_.blocks.rows, planes = planes_.planes(run_);
    const std::int64_t work = kRun * conv_.out * static_cast<std::int64_t>(planes_.from.size());
    const std::int64_t items = (planes + kRun - 1) / kRun * blocks,
                       together = std::max<std::int64_t>(1, kLeastPositions / work);
    for_chunks(run_.parallel, items, together, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (std::int64_t item = begin; item < end; ++item) {
        if (item == begin || blocks > 1) std::fill_n(scratch.stage, planes_.part.area() * kRun, T(0));
        const std::int64_t first = item / blocks * kRun;
        add({first, std::min(planes, first + kRun)}, planes_.rows(item % blocks), scratch);
      }
    });
  }

  void filter_gradient() const {
    const std::int64_t groups = conv_.groups;
    for_chunks(run_.parallel, (groups + kRun - 1) / kRun, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (std::int64_t item = begin; item < end; ++item)
        add_products({item * kRun, std::min(groups, (item + 1) * kRun)}, scratch);
    });
  }

 private:
  struct alignas(64) Scratch {
    T stage[kStagedRuns * kRun];   ///< [row, column, channel]; zero outside the image
    T turned[kStagedRuns * kRun];  ///< elements of the image, then sums: [position, channel]
    T weights[kMostTaps * kRun];   ///< [tap, channel]
  };

  /// Computes some rows of at most kRun planes.
  void add(const Span& planes, const Span& rows, Scratch& scratch) const {
    fill(planes, rows.begin, scratch);
    const std::int64_t area = conv_.output.area(), positions = rows.size() * conv_.output.columns;
    for (std::int64_t o = 0; o < conv_.out; ++o) {
      turn_weights(planes, o, scratch.weights);
      depthwise_tiles_of<T>().runs(conv_.taps(), scratch.weights, planes_.offsets.data(), scratch.stage, positions,
                                   planes_.from.data(), scratch.turned, planes_.to.data());
      const std::int64_t to = (planes.begin * conv_.out + o) * area + rows.begin * conv_.output.columns;
      transpose(scratch.turned, kRun, positions, planes.size(), run_.outputs[0].as<T>() + to, conv_.out * area);
      finish_rows(run_, to, positions, planes.size(), conv_.out * area);
    }
  }

  /// Computes the filter's gradient for at most kRun groups.
  void add_products(const Span& groups, Scratch& scratch) const {
    const std::int64_t area = conv_.output.area(), taps = conv_.taps();
    T* const sums = scratch.weights;
    std::fill_n(sums, taps * kRun, T(0));
    for (std::int64_t block = 0; block < planes_.blocks.rows; ++block) {
      const Span rows = planes_.rows(block);
      const std::int64_t positions = rows.size() * conv_.output.columns;
      std::fill_n(scratch.stage, planes_.part.area() * kRun, T(0));
      for (std::int64_t n = 0; n < run_.inputs[0].sizes[0]; ++n) {
        const Span planes{n * conv_.groups + groups.begin, n * conv_.groups + groups.end};
        fill(planes, rows.begin, scratch);
        transpose(run_.inputs[0].as<const T>() + planes.begin * area + rows.begin * conv_.output.columns, area,
                  planes.size(), positions, scratch.turned, kRun);
        depthwise_tiles_of<T>().products(taps, planes_.offsets.data(), scratch.stage, positions, planes_.from.data(),
                                         scratch.turned, planes_.to.data(), sums);
      }
    }
    transpose(sums, kRun, taps, groups.size(), run_.outputs[0].as<T>() + groups.begin * taps, taps);
  }

  /// Copies the elements of the image under the rows that begin with output row `row`.
  void fill(const Span& planes, std::int64_t row, Scratch& scratch) const {
    const Plane &image = conv_.image, &part = planes_.part;
    const std::int64_t top = conv_.slide.rows.position(row, 0), left = conv_.slide.columns.position(0, 0);
    const Span rows = WindowSteps{.padding = -top}.inside(0, image.rows, part.rows);
    const Span columns = WindowSteps{.padding = -left}.inside(0, image.columns, part.columns);
    const T* from = images_ + planes.begin * image.area() + (top + rows.begin) * image.columns;
    transpose(from, image.area(), planes.size(), rows.size() * image.columns, scratch.turned, kRun);
    copy_rows({.rows = rows.size(),
               .n = columns.size() * kRun,
               .step = 1,
               .from_pitch = image.columns * kRun,
               .to_pitch = part.columns * kRun},
              scratch.turned + (left + columns.begin) * kRun,
              scratch.stage + (rows.begin * part.columns + columns.begin) * kRun);
  }

  /// Transposes the filters of target `o` of each plane.
  void turn_weights(const Span& planes, std::int64_t o, T* to) const {
    const std::int64_t taps = conv_.taps();
    for (std::int64_t plane = planes.begin; plane < planes.end;) {
      const std::int64_t group = plane % conv_.groups, count = std::min(planes.end - plane, conv_.groups - group);
      transpose(run_.inputs[1].as<const T>() + (group * conv_.out + o) * taps, conv_.out * taps, count, taps,
                to + plane - planes.begin, kRun);
      plane += count;
    }
  }

  const KernelRun& run_;
  const PlaneConv& planes_;
  const Convolution& conv_;
  const T* const images_;
};

/// Chooses the largest blocks of rows that fit.
bool choose_rows(PlaneConv& planes) {
  const Convolution& conv = planes.conv;
  planes.part.columns = elements_under(conv.slide.columns, conv.filter.columns, conv.output.columns);
  for (planes.blocks.rows = 1; planes.blocks.rows <= conv.output.rows; ++planes.blocks.rows) {
    const std::int64_t rows = (conv.output.rows + planes.blocks.rows - 1) / planes.blocks.rows;
    planes.part.rows = elements_under(conv.slide.rows, conv.filter.rows, rows);
    if (planes.part.rows * std::max(planes.part.columns, conv.image.columns) <= kStagedRuns) return true;
  }
  return false;
}

}  // namespace

std::optional<PlaneConv> channel_convolution(const Convolution& conv) {
  PlaneConv planes{.conv = conv, .offsets = {}, .from = {}, .to = {}};
  if (!choose_rows(planes)) return std::nullopt;
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  const auto place = [&](std::int64_t row, std::int64_t column) { return (row * planes.part.columns + column) * kRun; };
  for (std::int64_t k = 0; k < conv.filter.rows; ++k)
    for (std::int64_t l = 0; l < conv.filter.columns; ++l)
      planes.offsets.push_back(place(k * rows.dilation, l * columns.dilation));
  for (std::int64_t r = 0; r < (conv.output.rows + planes.blocks.rows - 1) / planes.blocks.rows; ++r)
    for (std::int64_t c = 0; c < conv.output.columns; ++c) {
      planes.from.push_back(place(r * rows.stride, c * columns.stride));
      planes.to.push_back(std::ssize(planes.to) * kRun);
    }
  return planes;
}

void convolve_channels(KernelRun& run, const PlaneConv& planes) {
  dispatch_floats(run.outputs[0].dtype,
                  [&](auto zero) { ChannelWork<decltype(zero)>(run, planes, run.inputs[0]).convolve(); });
}

void filter_gradient_by_channels(KernelRun& run, const PlaneConv& planes) {
  dispatch_floats(run.outputs[0].dtype,
                  [&](auto zero) { ChannelWork<decltype(zero)>(run, planes, run.inputs[1]).filter_gradient(); });
}

}  // namespace ferry::cpu
