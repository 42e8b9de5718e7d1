// Convolution plane by plane, for source channels with few target channels each (depthwise). Vectors hold consecutive
// positions of a row. The stage sorts elements by their remainders modulo the strides, so that the elements under one
// tap are consecutive.
#include <algorithm>

#include "kernels/cpu/conv/conv.hpp"
#include "kernels/cpu/conv/depthwise_tile.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kStaged = 4096;  // the most elements of a stage: they fit in the first-level cache

/// The number of remainders modulo the stride: one more than the largest remainder of a tap.
std::int64_t remainders(const WindowSteps& steps, std::int64_t taps) {
  std::int64_t most = 0;
  for (std::int64_t k = 0; k < taps; ++k) most = std::max(most, k * steps.dilation % steps.stride);
  return most + 1;
}

/// The number of rows, or columns, of a stage for one remainder.
std::int64_t stage_size(const WindowSteps& steps, std::int64_t taps, std::int64_t outputs) {
  return (elements_under(steps, taps, outputs) + steps.stride - 1) / steps.stride;
}

/// The least multiple of kRun that is at least `n`.
std::int64_t whole_runs(std::int64_t n) {
  return (n + kRun - 1) / kRun * kRun;
}

/// Sets the size of the stage for blocks of up to `block` positions. Runs may be read beyond the end of a row of the
/// output. Returns whether the stage is small enough.
bool set_stage(PlaneConv& planes, const Plane& block) {
  const Convolution& conv = planes.conv;
  planes.part = {stage_size(conv.slide.rows, conv.filter.rows, block.rows),
                 stage_size(conv.slide.columns, conv.filter.columns, whole_runs(block.columns))};
  return planes.remainders.area() * planes.part.area() <= kStaged;
}

/// Cuts the output into the largest blocks that fit. A block has whole rows unless the stage then has too few of them,
/// but at least kRun columns. Returns false if not even one row fits.
bool choose_blocks(PlaneConv& planes) {
  const auto part = [](std::int64_t n, std::int64_t count) { return (n + count - 1) / count; };
  const Plane& output = planes.conv.output;
  Plane& blocks = planes.blocks;
  for (const std::int64_t rows : {std::min(output.rows, 2 * kRowsAtOnce), std::int64_t{1}})
    for (blocks.columns = 1; blocks.columns == 1 || output.columns / blocks.columns >= kRun; ++blocks.columns) {
      const std::int64_t columns = part(output.columns, blocks.columns);
      if (!set_stage(planes, {rows, columns})) continue;
      for (blocks.rows = 1; !set_stage(planes, {part(output.rows, blocks.rows), columns});) ++blocks.rows;
      return true;
    }
  return false;
}

template <class T>
class PlaneWork {
 public:
  PlaneWork(const KernelRun& run, const PlaneConv& planes, const Array& images)
      : run_(run), planes_(planes), conv_(planes.conv), images_(images.as<const T>()) {}

  void convolve() const {
    const std::int64_t planes = planes_.planes(run_), blocks = planes_.blocks.area();
    const std::int64_t work = conv_.out * conv_.output.area() / blocks;
    for_chunks(run_.parallel, planes * blocks,
               std::max<std::int64_t>(1, kLeastPositions / std::max<std::int64_t>(1, work)),
               [&](std::int64_t begin, std::int64_t end) {
                 Scratch scratch;
                 while (begin < end) {
                   const std::int64_t number = begin / planes, first = number * planes;
                   const std::int64_t last = std::min(end, first + planes);
                   add(block(number), {begin - first, last - first}, scratch);
                   begin = last;
                 }
               });
  }

  void filter_gradient() const {
    for_chunks(run_.parallel, conv_.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (std::int64_t group = begin; group < end; ++group) add_products(group, scratch);
    });
  }

 private:
  struct Block {
    Span rows, columns;
  };
  struct alignas(64) Scratch {
    T stage[kStaged];             ///< zero where the image has no element
    T weights[kMostTaps * kRun];  ///< a filter, each weight kRun times; or the sums of a filter's gradient
  };
  /// A part of the image to copy into the stage.
  struct Copied {
    RowsToCopy rows;
    std::int64_t from, to;
  };

  [[nodiscard]] Block block(std::int64_t number) const {
    return {planes_.rows(number / planes_.blocks.columns), planes_.columns(number % planes_.blocks.columns)};
  }

  /// Computes a block of some planes.
  void add(const Block& block, const Span& planes, Scratch& scratch) const {
    const std::int64_t area = conv_.output.area();
    const std::vector<Copied> copied = copies(block);
    const Runs runs = runs_of(block);
    clear(scratch);
    for (std::int64_t plane = planes.begin; plane < planes.end; ++plane) {
      fill(plane, copied, scratch);
      const T* weights = run_.inputs[1].as<const T>() + plane % conv_.groups * conv_.out * conv_.taps();
      for (std::int64_t o = 0; o < conv_.out; ++o, weights += conv_.taps()) {
        const std::int64_t to =
            (plane * conv_.out + o) * area + block.rows.begin * conv_.output.columns + block.columns.begin;
        sum(block, runs, weights, scratch, run_.outputs[0].as<T>() + to);
        if (planes_.blocks.area() > 1)
          finish_rows(run_, to, block.columns.size(), block.rows.size(), conv_.output.columns);
      }
    }
    const std::int64_t size = conv_.out * area;
    if (planes_.blocks.area() == 1) finish_rows(run_, planes.begin * size, size, planes.size(), size);
  }

  void clear(Scratch& scratch) const {
    std::fill_n(scratch.stage, planes_.remainders.area() * planes_.part.area(), T(0));
  }
  void fill(std::int64_t plane, const std::vector<Copied>& copied, Scratch& scratch) const {
    const T* image = images_ + plane * conv_.image.area();
    for (const Copied& some : copied) copy_rows(some.rows, image + some.from, scratch.stage + some.to);
  }

  /// The elements under a block that are inside the image.
  [[nodiscard]] std::vector<Copied> copies(const Block& block) const {
    const Plane& part = planes_.part;
    const WindowSteps &rows = conv_.slide.rows, &columns = conv_.slide.columns;
    const std::int64_t width = stage_size(columns, conv_.filter.columns, block.columns.size());
    std::vector<Copied> all;
    std::int64_t to = 0;
    for (std::int64_t v = 0; v < planes_.remainders.columns; ++v) {
      const WindowSteps along{.stride = columns.stride, .padding = -(columns.position(block.columns.begin, 0) + v)};
      const Span inside = along.inside(0, conv_.image.columns, width);
      for (std::int64_t u = 0; u < planes_.remainders.rows; ++u, to += part.area()) {
        const WindowSteps down{.stride = rows.stride, .padding = -(rows.position(block.rows.begin, 0) + u)};
        const Span here = down.inside(0, conv_.image.rows, part.rows);
        all.push_back({{.rows = here.size(),
                        .n = inside.size(),
                        .step = columns.stride,
                        .from_pitch = rows.stride * conv_.image.columns,
                        .to_pitch = part.columns},
                       down.position(here.begin, 0) * conv_.image.columns + along.position(inside.begin, 0),
                       to + here.begin * part.columns + inside.begin});
      }
    }
    return all;
  }

  // ---- The filter's gradient ----

  /// Computes the gradient of a group's filter. Each tap has kRun sums, which are added up at the end.
  void add_products(std::int64_t group, Scratch& scratch) const {
    const std::int64_t taps = conv_.taps();
    T* const sums = scratch.weights;
    std::fill_n(sums, taps * kRun, T(0));
    for (std::int64_t number = 0; number < planes_.blocks.area(); ++number) add_products(group, block(number), scratch);
    T* const to = run_.outputs[0].as<T>() + group * taps;
    for (std::int64_t t = 0; t < taps; ++t) {
      to[t] = 0;
      for (std::int64_t v = 0; v < kRun; ++v) to[t] += sums[t * kRun + v];
    }
  }

  void add_products(std::int64_t group, const Block& block, Scratch& scratch) const {
    const std::int64_t width = whole_runs(block.columns.size());
    const std::vector<Copied> copied = copies(block);
    Runs runs;
    for (std::int64_t r = 0; r < block.rows.size(); ++r)
      for (std::int64_t c = 0; c < width; c += kRun) {
        runs.from.push_back(r * planes_.part.columns + c);
        runs.to.push_back(r * width + c);
      }
    alignas(64) T gradient[kStaged];  // of the block, with zeros at the end of each row
    std::fill_n(gradient, block.rows.size() * width, T(0));
    clear(scratch);
    for (std::int64_t n = 0; n < run_.inputs[0].sizes[0]; ++n) {
      const std::int64_t plane = n * conv_.groups + group;
      fill(plane, copied, scratch);
      copy_rows({.rows = block.rows.size(),
                 .n = block.columns.size(),
                 .step = 1,
                 .from_pitch = conv_.output.columns,
                 .to_pitch = width},
                run_.inputs[0].as<const T>() + plane * conv_.output.area() + block.rows.begin * conv_.output.columns +
                    block.columns.begin,
                gradient);
      depthwise_tiles_of<T>().products(conv_.taps(), planes_.offsets.data(), scratch.stage, std::ssize(runs.from),
                                       runs.from.data(), gradient, runs.to.data(), scratch.weights);
    }
  }

  // ---- The sums ----

  /// The loop over rows for the filter, or nullptr if there is none.
  [[nodiscard]] SumRows<T> row_loop(const Block& block) const {
    const Plane& filter = conv_.filter;
    const WindowSteps& rows = conv_.slide.rows;
    const bool has_loop = filter.rows == filter.columns && filter.rows % 2 == 1 && 3 <= filter.rows &&
                          filter.rows <= 7 && rows.dilation == 1 && rows.stride <= 2;
    if (!has_loop || block.rows.size() < kRowsAtOnce || block.columns.size() < kLeastColumns) return nullptr;
    return depthwise_tiles_of<T>().rows[filter.rows / 2 - 1][rows.stride - 1];
  }

  /// The runs of a block for SumRuns, row by row. A row that is shorter than a run has one run; a row's last run ends
  /// with the row.
  struct Runs {
    std::vector<std::int64_t> from, to;
  };

  [[nodiscard]] Runs runs_of(const Block& block) const {
    Runs runs;
    if (row_loop(block) != nullptr) return runs;
    const std::int64_t columns = block.columns.size();
    for (std::int64_t r = 0; r < block.rows.size(); ++r)
      for (std::int64_t c = 0; c < columns; c += kRun) {
        const std::int64_t column = std::max<std::int64_t>(0, std::min(c, columns - kRun));
        runs.from.push_back(r * planes_.part.columns + column);
        runs.to.push_back(r * conv_.output.columns + column);
      }
    return runs;
  }

  /// Computes a block of one target of the source channel in the stage.
  void sum(const Block& block, const Runs& runs, const T* weights, Scratch& scratch, T* to) const {
    const std::int64_t columns = block.columns.size(), pitch = conv_.output.columns;
    if (const auto loop = row_loop(block))
      return loop(weights, planes_.offsets.data(), scratch.stage,
                  {.rows = block.rows.size(), .columns = columns, .x_pitch = planes_.part.columns, .y_pitch = pitch},
                  to);
    for (std::int64_t t = 0; t < conv_.taps(); ++t) std::fill_n(scratch.weights + t * kRun, kRun, weights[t]);
    const auto add = [&](std::size_t first, std::int64_t n, T* sums, const std::int64_t* places) {
      depthwise_tiles_of<T>().runs(conv_.taps(), scratch.weights, planes_.offsets.data(), scratch.stage, n,
                                   runs.from.data() + first, sums, places);
    };
    if (columns >= kRun) return add(0, std::ssize(runs.from), to, runs.to.data());
    constexpr std::int64_t kRows = 8, kPlaces[kRows] = {0, 16, 32, 48, 64, 80, 96, 112};
    for (std::int64_t row = 0; row < block.rows.size(); row += kRows) {
      alignas(64) T sums[kRows * kRun];
      const std::int64_t n = std::min(kRows, block.rows.size() - row);
      add(static_cast<std::size_t>(row), n, sums, kPlaces);
      copy_rows({.rows = n, .n = columns, .step = 1, .from_pitch = kRun, .to_pitch = pitch}, sums, to + row * pitch);
    }
  }

  const KernelRun& run_;
  const PlaneConv& planes_;
  const Convolution& conv_;
  const T* const images_;
};

}  // namespace

std::optional<PlaneConv> plane_convolution(const Convolution& conv) {
  if (conv.output.columns < kLeastColumns)
    if (auto channels = channel_convolution(conv)) return channels;
  PlaneConv planes{.conv = conv, .offsets = {}, .from = {}, .to = {}};
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  planes.remainders = {remainders(rows, conv.filter.rows), remainders(columns, conv.filter.columns)};
  if (!choose_blocks(planes)) return std::nullopt;
  const Plane& part = planes.part;
  for (std::int64_t k = 0; k < conv.filter.rows; ++k)
    for (std::int64_t l = 0; l < conv.filter.columns; ++l) {
      const std::int64_t u = k * rows.dilation, v = l * columns.dilation;
      const std::int64_t remainder = v % columns.stride * planes.remainders.rows + u % rows.stride;
      planes.offsets.push_back(remainder * part.area() + u / rows.stride * part.columns + v / columns.stride);
    }
  return planes;
}

void convolve_planes(KernelRun& run, const PlaneConv& planes) {
  if (planes.by_channels()) return convolve_channels(run, planes);
  dispatch_floats(run.outputs[0].dtype,
                  [&](auto zero) { PlaneWork<decltype(zero)>(run, planes, run.inputs[0]).convolve(); });
}

void filter_gradient_by_planes(KernelRun& run, const PlaneConv& planes) {
  if (planes.by_channels()) return filter_gradient_by_channels(run, planes);
  dispatch_floats(run.outputs[0].dtype,
                  [&](auto zero) { PlaneWork<decltype(zero)>(run, planes, run.inputs[1]).filter_gradient(); });
}

}  // namespace ferry::cpu
