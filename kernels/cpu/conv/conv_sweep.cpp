// Finds which elements of the source and the filter a direct convolution multiplies: the order of the positions, and
// the taps outside the image.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "kernels/cpu/conv/conv.hpp"

namespace ferry::cpu {

Span Reach::taps_of(std::int64_t target) const {
  Span span;
  while (span.begin < std::ssize(taps) && !inside(target, span.begin)) ++span.begin;
  span.end = span.begin;
  while (span.end < std::ssize(taps) && inside(target, span.end)) ++span.end;
  return span;
}

Span Reach::targets_of(std::int64_t tap, Span among) const {
  Span span{among.begin, among.end};
  while (span.begin < span.end && !inside(span.begin, tap)) ++span.begin;
  while (span.begin < span.end && !inside(span.end - 1, tap)) --span.end;
  return {span.begin - among.begin, span.end - among.begin};
}

namespace {

/// The most positions of a unit in a filter's gradient: a panel of the packed gradient then fits in the first-level
/// cache.
constexpr std::int64_t kPackedPositions = kCachedBytes / kPanelBytes;

// ---- The positions of taps ----

/// The reach of a convolution: every tap at every output position.
Reach forward_reach(const WindowSteps& steps, std::int64_t taps, std::int64_t size, std::int64_t outputs) {
  Reach reach{.size = size, .targets = outputs, .step = steps.stride, .taps = {}, .filter = {}};
  for (std::int64_t k = 0; k < taps; ++k) {
    reach.taps.push_back(steps.position(0, k));
    reach.filter.push_back(k);
  }
  return reach;
}

/// The reach of the image's gradient at positions first, first + stride, …. Its sources are the outputs with a tap at
/// one of these positions.
Reach backward_reach(const WindowSteps& steps, std::int64_t taps, std::int64_t size, std::int64_t outputs,
                     std::int64_t first) {
  Reach reach{.size = outputs,
              .targets = (size - first + steps.stride - 1) / steps.stride,
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

/// Returns a length such that `places` is a sequence of runs of that length, each of consecutive places.
std::int64_t run_of(const std::vector<std::int64_t>& places) {
  const std::int64_t all = std::ssize(places);
  std::int64_t run = 1;
  const auto follows = [&](std::int64_t i) { return places[i] == places[i - 1] + 1; };
  while (run < all && follows(run)) ++run;
  for (std::int64_t i = 1; i < all; ++i)
    if (i % run != 0 && !follows(i)) return 1;
  return all % run == 0 ? run : 1;
}

/// Cuts a sweep into units of whole rows with at most `positions` positions each, unless a single row has more.
void cut_into_units(Sweep& sweep, std::int64_t positions) {
  const std::int64_t most = std::max<std::int64_t>(1, positions / sweep.columns.targets);
  sweep.units = (sweep.rows.targets + most - 1) / most;
  sweep.unit_rows = (sweep.rows.targets + sweep.units - 1) / sweep.units;
  sweep.units = (sweep.rows.targets + sweep.unit_rows - 1) / sweep.unit_rows;
}

/// `channel_step`: elements of the filter between consecutive source channels; `tap_columns`: columns of the filter.
Sweep sweep_of(Reach rows, Reach columns, const DirectConv& conv, std::int64_t channel_step, std::int64_t tap_columns) {
  Sweep sweep;
  sweep.rows = std::move(rows);
  sweep.columns = std::move(columns);
  sweep.row_step = sweep.rows.step * conv.source.columns;
  for (std::int64_t channel = 0; channel < conv.sources; ++channel)
    for (const std::int64_t u : sweep.rows.filter)
      for (const std::int64_t v : sweep.columns.filter)
        sweep.filter.push_back(channel * channel_step + u * tap_columns + v);
  sweep.run = run_of(sweep.filter);
  return sweep;
}

/// Cuts a sweep into units so that the sums of a unit stay in the cache. A unit may have several small images.
void cut_for_sums(Sweep& sweep, const DirectConv& conv) {
  cut_into_units(sweep, kUnitPositions);
  if (sweep.units == 1) {
    const std::int64_t most = std::max<std::int64_t>(1, kUnitPositions / sweep.positions());
    sweep.at_once = !conv.packed && conv.images <= most;
    sweep.images = std::min(conv.images, most);
  }
  if (sweep.rows.stride == 1 && sweep.columns.stride == 1) return;
  for (std::int64_t r = 0; r < sweep.unit_rows; ++r)
    for (std::int64_t c = 0; c < sweep.columns.targets; ++c)
      sweep.targets.push_back(r * sweep.rows.stride * conv.target.columns + c * sweep.columns.stride);
}

DirectConv forward_conv(const Convolution& conv) {
  DirectConv direct{.images = conv.images,
                    .groups = conv.groups,
                    .sources = conv.in,
                    .targets = conv.out,
                    .filter_step = conv.depth(),
                    .source = conv.image,
                    .target = conv.output,
                    .sweeps = {}};
  const Plane &image = conv.image, &filter = conv.filter, &output = conv.output;
  direct.sweeps.push_back(sweep_of(forward_reach(conv.slide.rows, filter.rows, image.rows, output.rows),
                                   forward_reach(conv.slide.columns, filter.columns, image.columns, output.columns),
                                   direct, conv.taps(), filter.columns));
  return direct;
}

// ---- The taps of a unit's positions that are inside the image: others are skipped ----

/// The offset in a source channel of target position [r,c] of a unit, and the offset of tap [u,v] relative to the
/// position.
std::int64_t place_of(const Sweep& sweep, std::int64_t r, std::int64_t c) {
  return r * sweep.row_step + c * sweep.columns.step;
}
std::int64_t offset_of(const DirectConv& conv, const Sweep& sweep, std::int64_t u, std::int64_t v) {
  return sweep.rows.taps[u] * conv.source.columns + sweep.columns.taps[v];
}

/// Sorts the rows of a factor into groups with the same steps. A span of rows and a span of columns identify the steps.
class Groups {
 public:
  explicit Groups(RowFactor& factor) : factor_(factor) {}

  /// Adds a row. Calls add_steps(steps) for the first row of each group.
  template <class AddSteps>
  void add(std::int64_t row, std::int64_t place, Span rows, Span columns, const AddSteps& add_steps) {
    const auto [at, is_new] =
        numbers_.try_emplace({rows.begin, rows.end, columns.begin, columns.end}, factor_.groups.size());
    if (is_new) add_steps(factor_.groups.emplace_back().steps);
    RowGroup& group = factor_.groups[at->second];
    group.rows.push_back(row);
    group.places.push_back(place);
  }

 private:
  RowFactor& factor_;
  std::map<std::array<std::int64_t, 4>, std::size_t> numbers_;
};

/// The factor with a row for each position; the steps along a row are channels and taps.
RowFactor factor_of_positions(const DirectConv& conv, const Sweep& sweep, const Unit& unit) {
  const std::int64_t rows = std::ssize(sweep.rows.taps), columns = std::ssize(sweep.columns.taps),
                     taps = rows * columns;
  const std::int64_t together =
      std::clamp<std::int64_t>(kCachedBytes / kPanelBytes / std::max<std::int64_t>(1, taps), 1, conv.sources);
  RowFactor factor{.images = sweep.images,
                   .depth = sweep.depth(),
                   .period = std::max<std::int64_t>(1, together * taps),
                   .period_step = together * conv.source.area(),
                   .groups = {}};
  Groups groups(factor);
  for (std::int64_t image = 0; image < sweep.images; ++image)
    for (std::int64_t r = 0; r < unit.rows; ++r)
      for (std::int64_t c = 0; c < sweep.columns.targets; ++c) {
        const Span us = sweep.rows.taps_of(unit.begin + r), vs = sweep.columns.taps_of(c);
        groups.add((image * unit.rows + r) * sweep.columns.targets + c,
                   image * conv.groups * conv.sources * conv.source.area() + place_of(sweep, r, c), us, vs,
                   [&](std::vector<ProductStep>& steps) {
                     for (std::int64_t channel = 0; channel < together; ++channel)
                       for (std::int64_t u = us.begin; u < us.end; ++u)
                         for (std::int64_t v = vs.begin; v < vs.end; ++v)
                           steps.push_back({channel * conv.source.area() + offset_of(conv, sweep, u, v),
                                            (channel * rows + u) * columns + v});
                   });
      }
  return factor;
}

/// The factor with a row for each channel and tap of a part of the filter; the steps along a row are positions. The
/// rows of a tap are consecutive.
RowFactor factor_of_taps(const DirectConv& conv, const Sweep& sweep, const Unit& unit, Span part) {
  const std::int64_t rows = std::ssize(sweep.rows.taps), columns = std::ssize(sweep.columns.taps);
  const std::int64_t depth = unit.rows * sweep.columns.targets;
  RowFactor factor{.depth = depth, .period = depth, .groups = {}};
  Groups groups(factor);
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const std::int64_t channel = row % conv.sources, tap = row / conv.sources, u = tap % rows, v = tap / rows;
    const Span rs = sweep.rows.targets_of(u, {unit.begin, unit.begin + unit.rows});
    const Span cs = sweep.columns.targets_of(v, {0, sweep.columns.targets});
    groups.add((channel * rows + u) * columns + v, channel * conv.source.area() + offset_of(conv, sweep, u, v), rs, cs,
               [&](std::vector<ProductStep>& steps) {
                 for (std::int64_t r = rs.begin; r < rs.end; ++r)
                   for (std::int64_t c = cs.begin; c < cs.end; ++c)
                     steps.push_back({place_of(sweep, r, c), r * sweep.columns.targets + c});
               });
  }
  return factor;
}

/// The number of rows from `row` on that have the same distance from each to the next, one or two elements.
std::int64_t evenly_spaced_rows(const std::vector<std::int64_t>& places, std::int64_t row) {
  const auto step = [&](std::int64_t r) { return places[r + 1] - places[r]; };
  std::int64_t last = row;
  while (last + 1 < std::ssize(places) && (step(last) == 1 || step(last) == 2) && step(last) == step(row)) ++last;
  return last + 1 - row;
}

/// Finds the kinds and factors of all units. make(unit) adds the `parts` factors for a unit of a new kind.
template <class Make>
void find_factors(Sweep& sweep, const Make& make) {
  std::map<std::vector<std::int64_t>, std::int64_t> kinds;
  for (std::int64_t number = 0; number < sweep.units; ++number) {
    const Unit unit = sweep.unit(number);
    std::vector<std::int64_t> spans;
    for (std::int64_t r = 0; r < unit.rows; ++r) {
      const Span taps = sweep.rows.taps_of(unit.begin + r);
      spans.insert(spans.end(), {taps.begin, taps.end});
    }
    const auto [at, is_new] = kinds.try_emplace(std::move(spans), std::ssize(kinds));
    if (is_new) {
      const std::size_t first = sweep.factors.size();
      make(unit);
      for (RowFactor& factor : std::span(sweep.factors).subspan(first))
        for (RowGroup& group : factor.groups) cut_into_tiles(group);
    }
    sweep.kinds.push_back(at->second);
  }
}

}  // namespace

void cut_into_tiles(RowGroup& group) {
  const ProductTiles<float>& tiles = product_tiles().of_float;
  const std::int64_t all = std::ssize(group.rows);
  std::int64_t begin = 0;
  const auto cut = [&](std::int64_t end) {
    const std::int64_t count = end - begin, cuts = (count + tiles.rows - 1) / tiles.rows;
    for (std::int64_t i = 1; i <= cuts; ++i) group.ends.push_back(begin + count * i / cuts);
    begin = end;
  };
  for (std::int64_t row = 0; tiles.apart && row < all;) {
    const std::int64_t count = evenly_spaced_rows(group.places, row);
    if (count >= tiles.rows / 2) {
      cut(row);
      cut(row + count);
    }
    row += count;
  }
  cut(all);
}

DirectConv direct_convolution(const Convolution& conv, bool packed) {
  DirectConv direct = forward_conv(conv);
  direct.packed = packed;
  direct.plain = conv.plain();
  cut_for_sums(direct.sweeps[0], direct);
  return direct;
}

DirectConv direct_filter_gradient(const Convolution& conv) {
  DirectConv direct = forward_conv(conv);
  cut_into_units(direct.sweeps[0], kPackedPositions);
  return direct;
}

DirectConv direct_image_gradient(const Convolution& conv) {
  DirectConv direct{.images = conv.images,
                    .groups = conv.groups,
                    .sources = conv.out,
                    .targets = conv.in,
                    .filter_step = conv.taps(),
                    .source = conv.output,
                    .target = conv.image,
                    .plain = conv.plain(),
                    .sweeps = {}};
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  const Plane &image = conv.image, &filter = conv.filter, &output = conv.output;
  for (std::int64_t r = 0; r < std::min(rows.stride, image.rows); ++r)
    for (std::int64_t c = 0; c < std::min(columns.stride, image.columns); ++c)
      direct.sweeps.push_back(sweep_of(backward_reach(rows, filter.rows, image.rows, output.rows, r),
                                       backward_reach(columns, filter.columns, image.columns, output.columns, c),
                                       direct, conv.depth(), filter.columns));
  for (Sweep& sweep : direct.sweeps) cut_for_sums(sweep, direct);
  return direct;
}

void find_rows_of_positions(DirectConv& conv) {
  for (Sweep& sweep : conv.sweeps)
    find_factors(sweep, [&](const Unit& unit) { sweep.factors.push_back(factor_of_positions(conv, sweep, unit)); });
}

void find_rows_of_taps(DirectConv& conv) {
  Sweep& sweep = conv.sweeps[0];
  // A part has whole tiles of rows. If there are few channels, it has the rows of whole columns of taps.
  const std::int64_t few = conv.sources * std::ssize(sweep.rows.taps);
  const std::int64_t whole = conv.sources < kMostTileRows ? few : kMostTileRows;
  const std::int64_t even = (sweep.depth() + kScratchLanes - 1) / kScratchLanes,
                     rows = (even + whole - 1) / whole * whole;
  sweep.parts = (sweep.depth() + rows - 1) / rows;
  find_factors(sweep, [&](const Unit& unit) {
    for (std::int64_t row = 0; row < sweep.depth(); row += rows)
      sweep.factors.push_back(factor_of_taps(conv, sweep, unit, {row, std::min(row + rows, sweep.depth())}));
  });
}

}  // namespace ferry::cpu
