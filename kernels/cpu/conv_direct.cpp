// Convolution without a matrix of columns: for each tap of a row of positions, an element of the source is multiplied
// by a panel of channels (product_tile.hpp). The convolution and its image's gradient are the same with other taps;
// the filter's gradient takes taps for positions and positions for taps.
#include <algorithm>
#include <span>

#include "kernels/cpu/conv.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/panels.hpp"

namespace ferry::cpu {

std::int64_t Reach::low() const {
  return taps.empty() ? 0 : *std::min_element(taps.begin(), taps.end());
}

std::int64_t Reach::extent(std::int64_t count) const {
  if (taps.empty() || count == 0) return 0;
  return (count - 1) * step + *std::max_element(taps.begin(), taps.end()) - low() + 1;
}

namespace {

constexpr std::int64_t kUnitPositions = 256;  // whose sums stay in the cache
constexpr std::int64_t kAtOnce = 512;         // positions of all images, for which the filter is packed only once
constexpr std::int64_t kFinished = 8;         // channels whose positions are finished together, in the first cache
constexpr std::int64_t kUnitsTogether = 32;   // that a filter's gradient packs before it multiplies

/// A lane of at most so many bytes lies on the stack of the thread that works: there it is in its core's cache from one
/// convolution to the next. Longer ones have places in the scratch.
constexpr std::int64_t kStackBytes = 1 << 18;

// ---- Which taps lie where ----

/// Of a convolution: each tap at every output position.
Reach forward_reach(const WindowSteps& steps, std::int64_t taps, std::int64_t outputs) {
  Reach reach{.targets = outputs, .step = steps.stride, .taps = {}, .filter = {}};
  for (std::int64_t k = 0; k < taps; ++k) {
    reach.taps.push_back(steps.position(0, k));
    reach.filter.push_back(k);
  }
  return reach;
}

/// Of the image's gradient, at positions first, first + stride …: the outputs that had them under a tap.
Reach backward_reach(const WindowSteps& steps, std::int64_t taps, std::int64_t size, std::int64_t first) {
  Reach reach{.targets = (size - first + steps.stride - 1) / steps.stride,
              .first = first,
              .stride = steps.stride,
              .taps = {},
              .filter = {}};
  for (std::int64_t k = 0; k < taps; ++k) {
    const std::int64_t at = first - steps.position(0, k);
    if (at % steps.stride != 0) continue;
    reach.taps.push_back(at / steps.stride);
    reach.filter.push_back(k);
  }
  return reach;
}

bool leaves(const Reach& reach, std::int64_t size) {
  return reach.low() < 0 || reach.low() + reach.extent(reach.targets) > size;
}

/// Into how long runs they can be cut whose elements lie one after another.
std::int64_t run_of(const std::vector<std::int64_t>& places) {
  const std::int64_t all = std::ssize(places);
  std::int64_t run = 1;
  const auto follows = [&](std::int64_t i) {
    return places[static_cast<std::size_t>(i)] == places[static_cast<std::size_t>(i - 1)] + 1;
  };
  while (run < all && follows(run)) ++run;
  for (std::int64_t i = 1; i < all; ++i)
    if (i % run != 0 && !follows(i)) return 1;
  return all % run == 0 ? run : 1;
}

void cut_into_units(Sweep& sweep, const DirectConv& conv) {
  const std::int64_t most = std::max<std::int64_t>(1, kUnitPositions / sweep.columns.targets);
  sweep.units = (sweep.rows.targets + most - 1) / most;
  sweep.unit_rows = (sweep.rows.targets + sweep.units - 1) / sweep.units;
  sweep.units = (sweep.rows.targets + sweep.unit_rows - 1) / sweep.unit_rows;
  sweep.at_once = sweep.units == 1 && !conv.packed && conv.images * sweep.positions() <= kAtOnce;
  if (sweep.at_once)
    sweep.images = conv.images;
  else if (sweep.units == 1)
    sweep.images = std::max<std::int64_t>(1, kUnitPositions / sweep.positions());
}

/// What a unit reads.
void find_view(Sweep& sweep, const DirectConv& conv) {
  constexpr std::int64_t kWhole = 16;
  sweep.view = conv.source;
  if (!leaves(sweep.rows, conv.source.rows) && !leaves(sweep.columns, conv.source.columns)) return;
  sweep.copies = true;
  sweep.view = {sweep.rows.extent(sweep.unit_rows), sweep.columns.extent(sweep.columns.targets)};
  sweep.copied = (conv.sources * sweep.view.area() + kWhole - 1) / kWhole * kWhole;
}

void find_places(Sweep& sweep, const DirectConv& conv) {
  const std::int64_t image_step = sweep.copies ? sweep.copied : conv.groups * conv.sources * conv.source.area();
  for (std::int64_t image = 0; image < sweep.images; ++image)
    for (std::int64_t r = 0; r < sweep.unit_rows; ++r)
      for (std::int64_t c = 0; c < sweep.columns.targets; ++c)
        sweep.places.push_back(image * image_step + r * sweep.rows.step * sweep.view.columns + c * sweep.columns.step);
  if (sweep.rows.stride == 1 && sweep.columns.stride == 1) return;
  for (std::int64_t r = 0; r < sweep.unit_rows; ++r)
    for (std::int64_t c = 0; c < sweep.columns.targets; ++c)
      sweep.targets.push_back(r * sweep.rows.stride * conv.target.columns + c * sweep.columns.stride);
}

/// `channel_step`, `tap_columns`: of the filter.
Sweep sweep_of(Reach rows, Reach columns, const DirectConv& conv, std::int64_t channel_step, std::int64_t tap_columns) {
  Sweep sweep;
  sweep.rows = std::move(rows);
  sweep.columns = std::move(columns);
  cut_into_units(sweep, conv);
  find_view(sweep, conv);
  find_places(sweep, conv);
  for (std::int64_t channel = 0; channel < conv.sources; ++channel)
    for (std::size_t u = 0; u < sweep.rows.taps.size(); ++u)
      for (std::size_t v = 0; v < sweep.columns.taps.size(); ++v) {
        sweep.offsets.push_back(channel * sweep.view.area() +
                                (sweep.rows.taps[u] - sweep.rows.low()) * sweep.view.columns + sweep.columns.taps[v] -
                                sweep.columns.low());
        sweep.filter.push_back(channel * channel_step + sweep.rows.filter[u] * tap_columns + sweep.columns.filter[v]);
      }
  sweep.run = run_of(sweep.filter);
  return sweep;
}

// ---- A unit: some rows of positions of a sweep ----

struct Unit {
  std::int64_t begin, rows;  ///< of target rows
};

Unit unit_of(const Sweep& sweep, std::int64_t number) {
  const std::int64_t begin = number * sweep.unit_rows;
  return {begin, std::min(sweep.unit_rows, sweep.rows.targets - begin)};
}

/// Where the unit's first tap of its first position lies, in the channels or in `copy`, which is filled then.
template <class T>
const T* view_of(const DirectConv& conv, const Sweep& sweep, const Unit& unit, const T* channels, T* copy) {
  const std::int64_t row = unit.begin * sweep.rows.step + sweep.rows.low(), column = sweep.columns.low();
  if (!sweep.copies) return channels + row * conv.source.columns + column;
  const auto inside = [](std::int64_t first, std::int64_t count, std::int64_t size) {  // of `count` from `first` on
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, count);
    return Span{begin, std::clamp<std::int64_t>(size - first, begin, count)};
  };
  const Span rows = inside(row, sweep.view.rows, conv.source.rows);
  const Span columns = inside(column, sweep.view.columns, conv.source.columns);
  T* to = copy;
  for (std::int64_t channel = 0; channel < conv.sources; ++channel, to += sweep.view.area()) {
    std::fill_n(to, sweep.view.area(), T(0));
    const T* from = channels + channel * conv.source.area() + row * conv.source.columns + column;
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      std::copy(from + r * conv.source.columns + columns.begin, from + r * conv.source.columns + columns.end,
                to + r * sweep.view.columns + columns.begin);
  }
  return copy;
}

// ---- The convolution and its image's gradient ----

/// Elements of the packed filters of the sweeps that are not at once.
template <class T>
std::int64_t packed_filters(const DirectConv& conv) {
  std::int64_t depth = 0;
  for (const Sweep& sweep : conv.sweeps)
    if (!sweep.at_once) depth += std::ssize(sweep.offsets);
  return conv.groups * Panels<T>(conv.targets).room() * depth;
}

/// Elements of the copies of all images in a sweep at once.
std::int64_t copies_at_once(const DirectConv& conv) {
  std::int64_t most = 0;
  for (const Sweep& sweep : conv.sweeps)
    if (sweep.at_once) most = std::max(most, conv.groups * conv.images * sweep.copied);
  return most;
}

/// Elements of a lane's copies in the other sweeps, and of those with its sums.
std::int64_t lane_copies(const DirectConv& conv) {
  std::int64_t most = 0;
  for (const Sweep& sweep : conv.sweeps)
    if (!sweep.at_once) most = std::max(most, sweep.images * sweep.copied);
  return most;
}
template <class T>
std::int64_t lane_elements(const DirectConv& conv) {
  std::int64_t most = 0;
  for (const Sweep& sweep : conv.sweeps)
    if (!sweep.at_once) most = std::max(most, std::ssize(sweep.places));
  return lane_copies(conv) + most * Panels<T>::kMostWidth;
}
template <class T>
bool lanes_on_stack(const DirectConv& conv) {
  return lane_elements<T>(conv) * static_cast<std::int64_t>(sizeof(T)) <= kStackBytes;
}

/// The sums of a sweep.
template <class T>
class Sums {
 public:
  Sums(const KernelRun& run, const DirectConv& conv, const Sweep& sweep, const T* packed)
      : run_(run),
        conv_(conv),
        sweep_(sweep),
        panels_(conv.targets),
        packed_(packed),
        finishes_(conv.sweeps.size() == 1 && sweep.targets.empty()) {}

  /// It makes the output in rows of units.
  [[nodiscard]] bool finishes() const { return finishes_; }

  /// Of all groups.
  void pack_filter(T* to) const {
    for_chunks(run_.parallel, conv_.groups * panels_.count(), 1, [&](std::int64_t item, std::int64_t) {
      const std::int64_t group = item / panels_.count();
      const Panel panel = panels_.at(item % panels_.count());
      pack_panel(group, panel, 0, depth(), to + place(group, panel));
    });
  }

  /// All images together, panel by panel: what is packed of the filter is in the first cache until it has been used.
  void compute_at_once(T* copies) const {
    const std::int64_t images = run_.inputs[0].sizes[0];
    const Unit unit = unit_of(sweep_, 0);
    if (sweep_.copies)
      for_chunks(run_.parallel, conv_.groups * images, 1, [&](std::int64_t item, std::int64_t) {
        static_cast<void>(view(item % images, item / images, unit, copies + item * sweep_.copied));
      });
    for_chunks(run_.parallel, conv_.groups * panels_.count(), 1, [&](std::int64_t item, std::int64_t) {
      alignas(64) T filter[kCachedBytes / sizeof(T)], sums[kAtOnce * Panels<T>::kMostWidth];
      const std::int64_t group = item / panels_.count();
      const Panel panel = panels_.at(item % panels_.count());
      const Part all{0, images, group, unit};
      const T* const from = sweep_.copies ? copies + group * images * sweep_.copied : view(0, group, unit, nullptr);
      multiply(
          from, places(all), sweep_.offsets,
          [&](std::int64_t begin, std::int64_t count) {
            pack_panel(group, panel, begin, count, filter);
            return filter;
          },
          panel, sums, false);
      put(all, panel, sums);
    });
  }

  void compute(T* lanes) const {
    const std::int64_t images = run_.inputs[0].sizes[0];
    const std::int64_t batches = (images + sweep_.images - 1) / sweep_.images * conv_.groups * sweep_.units;
    // Where there are few, each is cut by panels.
    const std::int64_t cuts = std::clamp<std::int64_t>((kConvLanes + batches - 1) / batches, 1, panels_.count());
    const auto work = [&](std::int64_t item, T* lane) {
      const std::int64_t batch = item / cuts, cut = item % cuts, group = batch / sweep_.units % conv_.groups;
      const std::int64_t first = batch / sweep_.units / conv_.groups * sweep_.images;
      const Part part{first, std::min(sweep_.images, images - first), group, unit_of(sweep_, batch % sweep_.units)};
      const T* view = views(part, lane);
      for (std::int64_t p = panels_.count() * cut / cuts; p < panels_.count() * (cut + 1) / cuts; ++p)
        compute(part, view, panels_.at(p), lane + lane_copies(conv_));
    };
    if (!lanes_on_stack<T>(conv_)) return in_lanes(run_, batches * cuts, lanes, lane_elements<T>(conv_), work);
    for_chunks(run_.parallel, batches * cuts, 1, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T lane[kStackBytes / sizeof(T)];
      for (std::int64_t item = begin; item < end; ++item) work(item, lane);
    });
  }

 private:
  /// A unit's rows of some images in a group.
  struct Part {
    std::int64_t first, images, group;
    Unit unit;
  };

  [[nodiscard]] std::int64_t depth() const { return std::ssize(sweep_.offsets); }
  /// Where a panel of the packed filter lies.
  [[nodiscard]] std::int64_t place(std::int64_t group, const Panel& panel) const {
    return (group * panels_.padded() + panel.first) * depth();
  }

  /// Elements [begin, begin + count) of its depth.
  void pack_panel(std::int64_t group, const Panel& panel, std::int64_t begin, std::int64_t count, T* to) const {
    const T* filter = run_.inputs[1].as<const T>() + group * (run_.inputs[1].count() / conv_.groups) +
                      panel.first * conv_.filter_step;
    for (std::int64_t i = begin, n = 0; i < begin + count; i += n, to += n * panels_.width(panel)) {
      n = std::min(sweep_.run - i % sweep_.run, begin + count - i);
      pack(filter + sweep_.filter[static_cast<std::size_t>(i)], conv_.filter_step, n, panel, to);
    }
  }

  const T* view(std::int64_t image, std::int64_t group, const Unit& unit, T* copy) const {
    const std::int64_t plane = image * conv_.groups + group;
    return view_of(conv_, sweep_, unit, run_.inputs[0].as<const T>() + plane * conv_.sources * conv_.source.area(),
                   copy);
  }

  /// Of all the part's images.
  const T* views(const Part& part, T* copies) const {
    for (std::int64_t i = 1; sweep_.copies && i < part.images; ++i)
      static_cast<void>(view(part.first + i, part.group, part.unit, copies + i * sweep_.copied));
    return view(part.first, part.group, part.unit, copies);
  }

  [[nodiscard]] std::int64_t positions(const Part& part) const { return part.unit.rows * sweep_.columns.targets; }
  [[nodiscard]] Places places(const Part& part) const {
    return std::span(sweep_.places).first(static_cast<std::size_t>(part.images * positions(part)));
  }

  void compute(const Part& part, const T* view, const Panel& panel, T* sums) const {
    const T* const filter = packed_ + place(part.group, panel);
    multiply(
        view, places(part), sweep_.offsets,
        [&](std::int64_t begin, std::int64_t) { return filter + begin * panels_.width(panel); }, panel, sums, false);
    put(part, panel, sums);
  }

  void put(const Part& part, const Panel& panel, const T* sums) const {
    const std::int64_t begin = (sweep_.rows.first + part.unit.begin * sweep_.rows.stride) * conv_.target.columns;
    for (std::int64_t image = 0; image < part.images; ++image) {
      const std::int64_t plane = (part.first + image) * conv_.groups + part.group;
      const std::int64_t to =
          (plane * conv_.targets + panel.first) * conv_.target.area() + begin + sweep_.columns.first;
      const T* const from = sums + image * positions(part) * panels_.width(panel);
      const std::int64_t together = finishes_ && run_.finish != nullptr ? kFinished : panel.count;
      for (std::int64_t v = 0; v < panel.count; v += together) {
        const Panel some{panel.first + v, std::min(together, panel.count - v), panel.vectors};
        const std::int64_t at = to + v * conv_.target.area();
        unpack(from + v, positions(part), sweep_.targets, some, run_.outputs[0].as<T>() + at, conv_.target.area());
        if (finishes_) finish_rows(run_, at, positions(part), some.count, conv_.target.area());
      }
    }
  }

  const KernelRun& run_;
  const DirectConv& conv_;
  const Sweep& sweep_;
  const Panels<T> panels_;
  const T* const packed_;
  const bool finishes_;
};

template <class T>
void convolve(const KernelRun& run, const DirectConv& conv) {
  T* packed = reinterpret_cast<T*>(run.scratch.data());
  if (conv.packed) return Sums<T>(run, conv, conv.sweeps[0], run.inputs[2].as<const T>()).compute(packed);
  T* const behind = packed + packed_filters<T>(conv);
  for (const Sweep& sweep : conv.sweeps) {
    const Sums<T> sums(run, conv, sweep, packed);
    if (sweep.at_once) {
      sums.compute_at_once(behind);
    } else {
      sums.pack_filter(packed);
      sums.compute(behind);
      packed += conv.groups * Panels<T>(conv.targets).padded() * std::ssize(sweep.offsets);
    }
    if (sums.finishes()) return;
  }
  finish_all(run);
}

// ---- The filter's gradient: sums over positions, added up over units ----

/// Elements of a unit: its copy, then the packed gradient of its outputs.
template <class T>
std::int64_t unit_elements(const DirectConv& conv) {
  const Sweep& sweep = conv.sweeps[0];
  return sweep.copied + sweep.positions() * Panels<T>(conv.targets).room();
}

/// The work of one group.
template <class T>
class FilterGradient {
 public:
  FilterGradient(const KernelRun& run, const DirectConv& conv, std::int64_t group)
      : run_(run), conv_(conv), sweep_(conv.sweeps[0]), panels_(conv.targets), group_(group) {
    sums_ = reinterpret_cast<T*>(run.scratch.data());
    packed_ = sums_ + panels_.padded() * depth();
    rows_of_item_ = (depth() + kConvLanes - 1) / kConvLanes;
    rows_of_item_ = (rows_of_item_ + kMostTileRows - 1) / kMostTileRows * kMostTileRows;
  }

  void compute() {
    const std::int64_t units = run_.inputs[1].sizes[0] * sweep_.units;
    for (std::int64_t begin = 0; begin < units; begin += kUnitsTogether) {
      const std::int64_t count = std::min(kUnitsTogether, units - begin);
      for_chunks(run_.parallel, count, 1, [&](std::int64_t i, std::int64_t) { pack_unit(i, begin + i); });
      const std::int64_t row_items = (depth() + rows_of_item_ - 1) / rows_of_item_;
      for_chunks(run_.parallel, panels_.count() * row_items, 1, [&](std::int64_t item, std::int64_t) {
        for (std::int64_t i = 0; i < count; ++i)
          add_unit(panels_.at(item / row_items), item % row_items * rows_of_item_, i, begin + i);
      });
    }
    T* to = run_.outputs[0].as<T>() + group_ * conv_.targets * depth();
    for (std::int64_t p = 0; p < panels_.count(); ++p) {
      const Panel panel = panels_.at(p);
      unpack(sums_ + panel.first * depth(), depth(), {}, panel, to + panel.first * depth(), depth());
    }
  }

 private:
  [[nodiscard]] std::int64_t depth() const { return std::ssize(sweep_.offsets); }
  [[nodiscard]] std::int64_t plane(std::int64_t unit) const { return unit / sweep_.units * conv_.groups + group_; }
  [[nodiscard]] std::int64_t positions(std::int64_t unit) const {
    return unit_of(sweep_, unit % sweep_.units).rows * sweep_.columns.targets;
  }
  [[nodiscard]] T* room(std::int64_t i) const { return packed_ + i * unit_elements<T>(conv_); }
  [[nodiscard]] T* gradients(std::int64_t i) const { return room(i) + sweep_.copied; }
  const T* view(std::int64_t i, std::int64_t unit, bool again) const {
    const T* channels = run_.inputs[1].as<const T>() + plane(unit) * conv_.sources * conv_.source.area();
    if (again && sweep_.copies) return room(i);
    return view_of(conv_, sweep_, unit_of(sweep_, unit % sweep_.units), channels, room(i));
  }

  void pack_unit(std::int64_t i, std::int64_t unit) const {
    static_cast<void>(view(i, unit, false));
    const std::int64_t count = positions(unit);
    for (std::int64_t p = 0; p < panels_.count(); ++p) {
      const Panel panel = panels_.at(p);
      const T* from = run_.inputs[0].as<const T>() + (plane(unit) * conv_.targets + panel.first) * conv_.target.area() +
                      unit_of(sweep_, unit % sweep_.units).begin * conv_.target.columns;
      pack(from, conv_.target.area(), count, panel, gradients(i) + panel.first * count);
    }
  }

  void add_unit(const Panel& panel, std::int64_t row, std::int64_t i, std::int64_t unit) const {
    const auto rows = static_cast<std::size_t>(std::min(rows_of_item_, depth() - row));
    const auto count = static_cast<std::size_t>(positions(unit));
    const T* const gradient = gradients(i) + panel.first * positions(unit);
    multiply(
        view(i, unit, true), std::span(sweep_.offsets).subspan(static_cast<std::size_t>(row), rows),
        std::span(sweep_.places).first(count),
        [&](std::int64_t begin, std::int64_t) { return gradient + begin * panels_.width(panel); }, panel,
        sums_ + panel.first * depth() + row * panels_.width(panel), unit > 0);
  }

  const KernelRun& run_;
  const DirectConv& conv_;
  const Sweep& sweep_;
  const Panels<T> panels_;
  const std::int64_t group_;
  T *sums_, *packed_;
  std::int64_t rows_of_item_;
};

}  // namespace

DirectConv direct_convolution(const Conv& conv, bool packed) {
  DirectConv direct{.images = conv.images,
                    .groups = conv.groups,
                    .sources = conv.in,
                    .targets = conv.out,
                    .filter_step = conv.depth(),
                    .source = conv.image,
                    .target = conv.output,
                    .packed = packed,
                    .sweeps = {}};
  direct.sweeps.push_back(sweep_of(forward_reach(conv.slide.rows, conv.filter.rows, conv.output.rows),
                                   forward_reach(conv.slide.columns, conv.filter.columns, conv.output.columns), direct,
                                   conv.taps(), conv.filter.columns));
  return direct;
}

DirectConv direct_image_gradient(const Conv& conv) {
  DirectConv direct{.images = conv.images,
                    .groups = conv.groups,
                    .sources = conv.out,
                    .targets = conv.in,
                    .filter_step = conv.taps(),
                    .source = conv.output,
                    .target = conv.image,
                    .sweeps = {}};
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  for (std::int64_t r = 0; r < std::min(rows.stride, conv.image.rows); ++r)
    for (std::int64_t c = 0; c < std::min(columns.stride, conv.image.columns); ++c)
      direct.sweeps.push_back(sweep_of(backward_reach(rows, conv.filter.rows, conv.image.rows, r),
                                       backward_reach(columns, conv.filter.columns, conv.image.columns, c), direct,
                                       conv.depth(), conv.filter.columns));
  return direct;
}

std::int64_t packed_filter_elements(const DirectConv& conv, DType dtype) {
  std::int64_t elements = 0;
  dispatch_floats(dtype, [&](auto zero) { elements = packed_filters<decltype(zero)>(conv); });
  return elements;
}

void pack_filter(KernelRun& run, std::int64_t groups) {
  const Array &filter = run.inputs[0], &packed = run.outputs[0];
  dispatch_floats(filter.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t targets = filter.sizes[0] / groups, depth = filter.count() / filter.sizes[0];
    const Panels<T> panels(targets);
    for_chunks(run.parallel, groups * panels.count(), 1, [&](std::int64_t item, std::int64_t) {
      const std::int64_t group = item / panels.count();
      const Panel panel = panels.at(item % panels.count());
      pack(filter.as<const T>() + (group * targets + panel.first) * depth, depth, depth, panel,
           packed.as<T>() + (group * panels.padded() + panel.first) * depth);
    });
  });
}

void convolve_directly(KernelRun& run, const DirectConv& conv) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) { convolve<decltype(zero)>(run, conv); });
}

void filter_gradient_directly(KernelRun& run, const DirectConv& conv) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) {
    for (std::int64_t group = 0; group < conv.groups; ++group)
      FilterGradient<decltype(zero)>(run, conv, group).compute();
  });
}

std::int64_t direct_scratch(const DirectConv& conv, DType dtype) {
  std::int64_t bytes = 0;
  dispatch_floats(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t lanes = lanes_on_stack<T>(conv) ? 0 : kConvLanes * lane_elements<T>(conv);
    const std::int64_t elements = (conv.packed ? 0 : packed_filters<T>(conv)) + std::max(lanes, copies_at_once(conv));
    bytes = elements * static_cast<std::int64_t>(sizeof(T));
  });
  return bytes;
}

std::int64_t filter_gradient_direct_scratch(const DirectConv& conv, DType dtype) {
  std::int64_t bytes = 0;
  dispatch_floats(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t sums = Panels<T>(conv.targets).room() * std::ssize(conv.sweeps[0].offsets);
    bytes = (sums + kUnitsTogether * unit_elements<T>(conv)) * static_cast<std::int64_t>(sizeof(T));
  });
  return bytes;
}

}  // namespace ferry::cpu
