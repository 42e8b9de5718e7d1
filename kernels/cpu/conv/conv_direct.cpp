// Convolution without a matrix of columns: for each tap of a row of positions, an element of the source is multiplied
// by a panel of channels (product_tile.hpp). The image's gradient is a convolution with other taps. In the filter's
// gradient, taps and positions swap their roles. In a 1 x 1 convolution of few channels, an element of the filter is
// multiplied by a panel of positions.
#include <algorithm>

#include "kernels/cpu/conv/conv.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kFinished = 16;  // channels that are finished together, while they are in the first-level cache
constexpr std::int64_t kTargetBytes = 128 << 10;  // targets that are computed before they are finished
/// With at most this many source channels, transposing the sums takes longer than copying the positions of the
/// channels.
constexpr std::int64_t kMostCopied = 64;
constexpr std::int64_t kUnitsTogether = 32;  // units that a filter's gradient packs before it multiplies

/// A lane of at most this many bytes is on the stack of the working thread, so it stays in the core's cache between
/// convolutions. Larger lanes are in the scratch.
constexpr std::int64_t kStackBytes = 1 << 18;

// ---- The convolution and its image's gradient ----

/// The number of elements of the packed filters of the sweeps that are not `at_once`. If `apart`, an upper bound for
/// any taps.
template <class T>
std::int64_t packed_filters(const DirectConv& conv, bool apart = false) {
  std::int64_t depth = apart ? conv.sources * conv.filter_step : 0;
  for (const Sweep& sweep : conv.sweeps)
    if (!apart && !sweep.at_once) depth += sweep.depth();
  return conv.groups * Panels<T>(conv.targets).room() * depth;
}

/// The number of elements of a lane: the most sums of one panel in the sweeps that are not `at_once`.
template <class T>
std::int64_t lane_elements(const DirectConv& conv) {
  std::int64_t most = 0;
  for (const Sweep& sweep : conv.sweeps)
    if (!sweep.at_once) most = std::max(most, sweep.images * sweep.positions());
  return most * Panels<T>::kMostWidth;
}
template <class T>
bool lanes_on_stack(const DirectConv& conv) {
  return lane_elements<T>(conv) * static_cast<std::int64_t>(sizeof(T)) <= kStackBytes;
}

/// Computes the targets of a sweep.
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

  /// Whether units are consecutive elements of the output that no other sweep writes. Then each unit is finished right
  /// after it is computed.
  [[nodiscard]] bool finishes() const { return finishes_; }

  /// Packs the filter of all groups.
  void pack_filter(T* to) const {
    for_chunks(run_.parallel, conv_.groups * panels_.count(), 1, [&](std::int64_t item, std::int64_t) {
      const std::int64_t group = item / panels_.count();
      const Panel panel = panels_.at(item % panels_.count());
      pack_panel(group, panel, 0, depth(), to + place(group, panel));
    });
  }

  /// Computes all images together, panel by panel: a piece of the packed filter stays in the first-level cache while it
  /// is used.
  void compute_at_once() const {
    for_chunks(run_.parallel, conv_.groups * panels_.count(), 1, [&](std::int64_t item, std::int64_t) {
      alignas(64) T filter[kCachedBytes / sizeof(T)], sums[kUnitPositions * Panels<T>::kMostWidth];
      const Part part{0, run_.inputs[0].sizes[0], item / panels_.count(), sweep_.unit(0)};
      const Panel panel = panels_.at(item % panels_.count());
      add(part, panel, sums, [&](std::int64_t begin, std::int64_t count) {
        pack_panel(part.group, panel, begin, count, filter);
        return filter;
      });
    });
  }

  void compute(T* lanes) const {
    if (is_by_positions()) return compute_by_positions();
    const std::int64_t images = run_.inputs[0].sizes[0];
    const std::int64_t batches = (images + sweep_.images - 1) / sweep_.images * conv_.groups * sweep_.units;
    // If there are few batches, each is divided by panels.
    const std::int64_t cuts = std::clamp<std::int64_t>((kScratchLanes + batches - 1) / batches, 1, panels_.count());
    const auto work = [&](std::int64_t item, T* lane) {
      const std::int64_t batch = item / cuts, cut = item % cuts, group = batch / sweep_.units % conv_.groups;
      const std::int64_t first = batch / sweep_.units / conv_.groups * sweep_.images;
      const Part part{first, std::min(sweep_.images, images - first), group, sweep_.unit(batch % sweep_.units)};
      for (std::int64_t p = panels_.count() * cut / cuts; p < panels_.count() * (cut + 1) / cuts; ++p) {
        const Panel panel = panels_.at(p);
        const T* const filter = packed_ + place(group, panel);
        add(part, panel, lane, [&](std::int64_t row, std::int64_t) { return filter + row * panels_.width(panel); });
      }
    };
    if (!lanes_on_stack<T>(conv_)) return in_lanes(run_, batches * cuts, lanes, lane_elements<T>(conv_), work);
    for_chunks(run_.parallel, batches * cuts, 1, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T lane[kStackBytes / sizeof(T)];
      for (std::int64_t item = begin; item < end; ++item) work(item, lane);
    });
  }

 private:
  /// Rows that are computed together: the rows of a unit in some images of one group.
  struct Part {
    std::int64_t first, images, group;
    Unit unit;
  };

  [[nodiscard]] std::int64_t depth() const { return sweep_.depth(); }
  /// The offset of a panel in the packed filter.
  [[nodiscard]] std::int64_t place(std::int64_t group, const Panel& panel) const {
    return (group * panels_.padded() + panel.first) * depth();
  }

  /// Packs rows [begin, begin + count) of a panel of the filter.
  void pack_panel(std::int64_t group, const Panel& panel, std::int64_t begin, std::int64_t count, T* to) const {
    const T* filter = run_.inputs[1].as<const T>() + group * (run_.inputs[1].count() / conv_.groups) +
                      panel.first * conv_.filter_step;
    for (std::int64_t i = begin, n = 0; i < begin + count; i += n, to += n * panels_.width(panel)) {
      n = std::min(sweep_.run - i % sweep_.run, begin + count - i);
      pack(filter + sweep_.filter[i], conv_.filter_step, n, panel, to);
    }
  }

  /// Whether vectors of positions are faster than vectors of channels. The sums are then in the order of the output,
  /// but the positions of each source channel are copied.
  [[nodiscard]] bool is_by_positions() const {
    return conv_.plain && finishes_ && conv_.sources <= std::min(kMostCopied, 2 * conv_.targets) &&
           8 * Panels<T>(conv_.target.area()).padded() <= 9 * conv_.target.area();
  }

  /// Computes a 1 × 1 convolution by panels of positions, for some of an image's positions and channels at a time.
  void compute_by_positions() const {
    const std::int64_t area = conv_.target.area();
    const Panels<T> positions(area);
    const std::int64_t fitting = kTargetBytes / static_cast<std::int64_t>(sizeof(T)) / conv_.targets;
    const std::int64_t together = std::max<std::int64_t>(1, fitting / Panels<T>::width());
    const std::int64_t units = (positions.count() + together - 1) / together;
    const std::int64_t batches = run_.inputs[0].sizes[0] * conv_.groups * units;
    const std::int64_t cuts = std::clamp<std::int64_t>((kScratchLanes + batches - 1) / batches, 1, panels_.count());
    for_chunks(run_.parallel, batches * cuts, 1, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T packed[kMostCopied * Panels<T>::kMostWidth];
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t plane = item / cuts / units, cut = item % cuts;
        const Span some{panels_.count() * cut / cuts, panels_.count() * (cut + 1) / cuts};
        const std::int64_t first = item / cuts % units * together;
        const std::int64_t last = std::min(positions.count(), first + together);
        for (std::int64_t p = first; p < last; ++p) compute_positions(plane, positions.at(p), some, packed);
        const std::int64_t from = positions.at(first).first, to = std::min(area, last * Panels<T>::width());
        const std::int64_t channels = std::min(conv_.targets, some.end * Panels<T>::width());
        for (std::int64_t c = some.begin * Panels<T>::width(); c < channels; c += kFinished)
          finish_rows(run_, (plane * conv_.targets + c) * area + from, to - from, std::min(kFinished, channels - c),
                      area);
      }
    });
  }

  /// Computes a panel of positions of a plane, for some panels of target channels.
  void compute_positions(std::int64_t plane, const Panel& panel, const Span& some, T* packed) const {
    const ProductTiles<T>& tiles = product_tiles_of<T>();
    const std::int64_t area = conv_.target.area(), depth = conv_.sources;
    copy_positions(run_.inputs[0].as<const T>() + plane * depth * area + panel.first, panel, packed);
    ProductStep steps[kMostCopied];
    for (std::int64_t f = some.begin, stepped = 0; f < some.end; ++f) {
      const Panel filter = panels_.at(f);
      const std::int64_t width = panels_.width(filter), cuts = (filter.count + tiles.rows - 1) / tiles.rows;
      for (std::int64_t i = 0; stepped != width && i < depth; ++i) steps[i] = {i * width, i};
      stepped = width;
      const T* const rows = packed_ + place(plane % conv_.groups, filter);
      T* const to = run_.outputs[0].as<T>() + (plane * conv_.targets + filter.first) * area + panel.first;
      add_to_columns<Panels<T>::kMostWidth>(panel, to, area, filter.count, false, [&](T* sums, std::int64_t step) {
        const EvenPlaces places(1), sums_places(step);
        for (std::int64_t i = 0; i < cuts; ++i) {
          const std::int64_t r = filter.count * i / cuts, count = filter.count * (i + 1) / cuts - r;
          tiles.of[panel.vectors - 1][count - 1](depth, rows + r, places.at, steps, packed, sums + r * step,
                                                 sums_places.at, false);
        }
      });
    }
  }

  /// to[i, v] = element v of the panel's positions in channel i, then zeros that fill up its vectors.
  void copy_positions(const T* channels, const Panel& panel, T* to) const {
    const std::int64_t width = Panels<T>::width(panel), area = conv_.source.area();
    copy_rows({.rows = conv_.sources, .n = panel.count, .step = 1, .from_pitch = area, .to_pitch = width}, channels,
              to);
    for (std::int64_t i = 0; panel.count < width && i < conv_.sources; ++i)
      std::fill(to + i * width + panel.count, to + (i + 1) * width, T(0));
  }

  [[nodiscard]] std::int64_t positions(const Part& part) const { return part.unit.rows * sweep_.columns.targets; }

  template <class Packed>
  void add(const Part& part, const Panel& panel, T* sums, const Packed& packed) const {
    const std::int64_t plane = part.first * conv_.groups + part.group;
    const T* const channels = run_.inputs[0].as<const T>() + plane * conv_.sources * conv_.source.area();
    multiply(channels + part.unit.begin * sweep_.row_step, sweep_.factor(part.unit.number), part.images, packed, panel,
             sums, false);
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
      sums.compute_at_once();
    } else {
      sums.pack_filter(packed);
      sums.compute(behind);
      packed += conv.groups * Panels<T>(conv.targets).padded() * sweep.depth();
    }
    if (sums.finishes()) return;
  }
  finish_all(run);
}

// ---- The filter's gradient: sums over positions, added up over units ----

/// The number of scratch elements of a unit: the packed gradient of its outputs.
template <class T>
std::int64_t unit_elements(const DirectConv& conv) {
  return conv.sweeps[0].positions() * Panels<T>(conv.targets).room();
}

/// The work on the filter's gradient of one group.
template <class T>
class FilterGradient {
 public:
  FilterGradient(const KernelRun& run, const DirectConv& conv, std::int64_t group)
      : run_(run), conv_(conv), sweep_(conv.sweeps[0]), panels_(conv.targets), group_(group) {
    sums_ = reinterpret_cast<T*>(run.scratch.data());
    packed_ = sums_ + panels_.padded() * depth();
  }

  void compute() {
    const std::int64_t units = run_.inputs[1].sizes[0] * sweep_.units;
    for (std::int64_t begin = 0; begin < units; begin += kUnitsTogether) {
      const std::int64_t count = std::min(kUnitsTogether, units - begin);
      for_chunks(run_.parallel, count, 1, [&](std::int64_t i, std::int64_t) { pack_unit(i, begin + i); });
      for_chunks(run_.parallel, panels_.count() * sweep_.parts, 1, [&](std::int64_t item, std::int64_t) {
        for (std::int64_t i = 0; i < count; ++i)
          add_unit(panels_.at(item / sweep_.parts), item % sweep_.parts, i, begin + i);
      });
    }
    T* to = run_.outputs[0].as<T>() + group_ * conv_.targets * depth();
    for (std::int64_t p = 0; p < panels_.count(); ++p) {
      const Panel panel = panels_.at(p);
      unpack(sums_ + panel.first * depth(), depth(), {}, panel, to + panel.first * depth(), depth());
    }
  }

 private:
  [[nodiscard]] std::int64_t depth() const { return sweep_.depth(); }
  [[nodiscard]] std::int64_t plane(std::int64_t unit) const { return unit / sweep_.units * conv_.groups + group_; }
  [[nodiscard]] std::int64_t positions(std::int64_t unit) const {
    return sweep_.unit(unit % sweep_.units).rows * sweep_.columns.targets;
  }
  [[nodiscard]] T* gradients(std::int64_t i) const { return packed_ + i * unit_elements<T>(conv_); }

  void pack_unit(std::int64_t i, std::int64_t unit) const {
    const std::int64_t count = positions(unit);
    for (std::int64_t p = 0; p < panels_.count(); ++p) {
      const Panel panel = panels_.at(p);
      const T* from = run_.inputs[0].as<const T>() + (plane(unit) * conv_.targets + panel.first) * conv_.target.area() +
                      sweep_.unit(unit % sweep_.units).begin * conv_.target.columns;
      pack(from, conv_.target.area(), count, panel, gradients(i) + panel.first * count);
    }
  }

  void add_unit(const Panel& panel, std::int64_t part, std::int64_t i, std::int64_t unit) const {
    const Unit here = sweep_.unit(unit % sweep_.units);
    const T* const channels = run_.inputs[1].as<const T>() + plane(unit) * conv_.sources * conv_.source.area();
    const T* const gradient = gradients(i) + panel.first * positions(unit);
    multiply(
        channels + here.begin * sweep_.row_step, sweep_.factor(here.number, part), 1,
        [&](std::int64_t begin, std::int64_t) { return gradient + begin * panels_.width(panel); }, panel,
        sums_ + panel.first * depth(), unit > 0);
  }

  const KernelRun& run_;
  const DirectConv& conv_;
  const Sweep& sweep_;
  const Panels<T> panels_;
  const std::int64_t group_;
  T *sums_, *packed_;
};

}  // namespace

std::int64_t packed_filter_elements(const DirectConv& conv, DType dtype) {
  std::int64_t elements = 0;
  dispatch_floats(dtype, [&](auto zero) { elements = packed_filters<decltype(zero)>(conv); });
  return elements;
}

std::int64_t packed_filter_elements(const Type& filter, std::int64_t groups) {
  std::int64_t elements = 0;
  const std::int64_t targets = filter.shape[0].size() / groups;
  dispatch_floats(filter.dtype, [&](auto zero) {
    elements = groups * Panels<decltype(zero)>(targets).room() * (filter.shape.count() / filter.shape[0].size());
  });
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

std::int64_t direct_scratch(const DirectConv& conv, DType dtype, bool apart) {
  std::int64_t bytes = 0;
  dispatch_floats(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t lanes = lanes_on_stack<T>(conv) ? 0 : kScratchLanes * lane_elements<T>(conv);
    const std::int64_t elements = (conv.packed ? 0 : packed_filters<T>(conv, apart)) + lanes;
    bytes = elements * static_cast<std::int64_t>(sizeof(T));
  });
  return bytes;
}

std::int64_t filter_gradient_direct_scratch(const DirectConv& conv, DType dtype) {
  std::int64_t bytes = 0;
  dispatch_floats(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t sums = Panels<T>(conv.targets).room() * conv.sweeps[0].depth();
    bytes = (sums + kUnitsTogether * unit_elements<T>(conv)) * static_cast<std::int64_t>(sizeof(T));
  });
  return bytes;
}

}  // namespace ferry::cpu
