#include "ops/image/sample.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

[[noreturn]] void fail(const std::string& what, const Value& value, const std::string& why, const SourceLine& line) {
  throw Error(Code::plan, what + ": of " + value.name() + " " + value.shape().str() + ": " + why).at(line);
}

/// Returns the sizes of a value. They must be known and not 0. The value must have `rank` dims (0: any number).
Ints known_sizes(const std::string& what, const Value& value, int rank, const SourceLine& line) {
  if (rank > 0 && value.rank() != rank) fail(what, value, "must have " + std::to_string(rank) + " dims", line);
  if (!value.shape().fixed()) fail(what, value, "all sizes must be known", line);
  Ints sizes = value.shape().sizes();
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) fail(what, value, "is empty", line);
  return sizes;
}

/// A tensor of these sizes with number(i) as element i, in row-major order.
template <class F>
Tensor numbers(DType dtype, const Ints& sizes, const F& number) {
  check_computed("a table", checked_count(sizes), SourceLine());
  Tensor tensor(dtype, sizes);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto data = tensor.mutable_data<T>();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(number(static_cast<std::int64_t>(i)));
  });
  return tensor;
}

/// Images as rows [images * elements,channels], so that one gather of an element's number gives all its channels.
struct Rows {
  Value rows;
  Ints sizes;  ///< sizes of an image

  Rows(const Value& x, const Ints& all) : sizes(all.begin() + 2, all.end()) {
    Ints order{0};
    for (int d = 2; d < x.rank(); ++d) order.push_back(d);
    order.push_back(1);
    rows = reshape(transpose(x, order), {-1, all[1]});
  }
  [[nodiscard]] std::int64_t elements() const { return checked_count(sizes); }
};

/// A neighbour of a position along one dim.
struct Neighbour {
  Value index;  ///< its position in the image, a whole number
  Value weight;
};

Value clamped(const Value& x, double low, double high) {
  return minimum(maximum(x, low), high);
}

/// Whether low <= x <= high.
Value between(const Value& x, double low, double high) {
  const Value is_above = greater_equal(x, low);
  return logical_and(is_above, less_equal(x, high));
}

/// Reflects `x` at both borders until it is in [low, high].
Value reflected(const Value& x, double low, double high) {
  if (high <= low) return zeros_like(x) + low;
  const double range = high - low;
  const Value from = x - low;
  const Value periods = stop_gradient(floor(from / (2 * range)));
  const Value folded = from - periods * (2 * range);
  const Value distance = abs(folded - range);
  return (range - distance) + low;
}

/// The weight of a neighbour at a distance of 0 to 2, by Keys' kernel with a = -0.75. `near`: whether the distance is
/// at most 1.
Value cubic_weight(const Value& distance, bool near) {
  constexpr double a = -0.75;
  if (near) {
    const Value inner = distance * (a + 2) - (a + 3);
    return inner * square(distance) + 1;
  }
  const Value inner = distance * a - 5 * a;
  const Value middle = inner * distance + 8 * a;
  return middle * distance - 4 * a;
}

/// The neighbours of a position along a dim. They may be outside of the image.
std::vector<Neighbour> neighbours(const Value& place, Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return {{stop_gradient(round(place)), Value()}};
  const Value below = stop_gradient(floor(place));
  const Value behind = place - below;  // 0 to 1
  if (interpolation == Interpolation::linear) return {{below, 1 - behind}, {below + 1, behind}};
  const Value before = 1 - behind;
  std::vector<Neighbour> four;
  four.push_back({below - 1, cubic_weight(behind + 1, false)});
  four.push_back({below, cubic_weight(behind, true)});
  four.push_back({below + 1, cubic_weight(before, true)});
  four.push_back({below + 2, cubic_weight(before + 1, false)});
  return four;
}

/// Moves the neighbour into an image of `size` elements: a neighbour outside gets weight 0 or is replaced by another
/// element.
Neighbour moved_inside(const Neighbour& neighbour, std::int64_t size, const Sampling& sampling) {
  const auto last = static_cast<double>(size - 1);
  const double edge = sampling.align_corners ? 0 : 0.5;
  Neighbour result = neighbour;
  if (sampling.outside == Outside::zeros) {
    const Value weight = neighbour.weight.defined() ? neighbour.weight : ones_like(neighbour.index);
    result.weight = select(between(neighbour.index, 0, last), weight, 0);
  } else if (sampling.outside == Outside::reflection) {
    result.index = reflected(neighbour.index, -edge, last + edge);
  }
  result.index = clamped(result.index, 0, last);
  return result;
}

using NeighboursPerDim = std::vector<std::vector<Neighbour>>;

/// Calls each(element numbers, weights) for every combination of neighbours, one from each dim. Numbers and weights
/// have shapes that are broadcast to the shape of the positions. Undefined weights mean 1.
template <class Each>
void for_combinations(const NeighboursPerDim& dims, const Ints& sizes, std::size_t dim, const Value& number,
                      const Value& weight, const Each& each) {
  if (dim == dims.size()) return each(number, weight);
  for (const Neighbour& neighbour : dims[dim]) {
    const Value index = cast(neighbour.index, DType::int64);
    const Value next = number.defined() ? number * sizes[dim] + index : index;
    Value product = neighbour.weight;
    if (weight.defined()) product = product.defined() ? weight * product : weight;
    for_combinations(dims, sizes, dim + 1, next, product, each);
  }
}

/// Calls each(weighted elements [places…,channels]) for every combination of neighbours. `begin` has the number of each
/// image's first element.
template <class Each>
void for_weighted(const Rows& images, const NeighboursPerDim& dims, const Value& begin, const Each& each) {
  for_combinations(dims, images.sizes, 0, Value(), Value(), [&](const Value& number, const Value& weight) {
    const Value picked = gather(images.rows, number + begin);
    each(weight.defined() ? picked * expand_dims(weight, {-1}) : picked);
  });
}

/// Transposes [n,places…,channels] to [n,channels,places…].
Value channels_second(const Value& y) {
  Ints order{0, y.rank() - 1};
  for (int d = 1; d < y.rank() - 1; ++d) order.push_back(d);
  return transpose(y, order);
}

/// Samples x at `places`, which has one value of shape [n,p1,…] for each dim: the positions along the dim, in elements.
/// Returns [n,channels,p1,…].
Value sampled(const Value& x, const Ints& sizes, const Values& places, const Sampling& sampling) {
  const Rows images(x, sizes);
  NeighboursPerDim dims;
  for (std::size_t d = 0; d < places.size(); ++d) {
    dims.emplace_back();
    for (const Neighbour& neighbour : neighbours(places[d], sampling.interpolation))
      dims.back().push_back(moved_inside(neighbour, images.sizes[d], sampling));
  }
  Ints shape(static_cast<std::size_t>(places[0].rank()), 1);
  shape[0] = sizes[0];
  const std::int64_t elements = images.elements();
  const Value begin = x.graph().constant(numbers(DType::int64, shape, [&](std::int64_t i) { return i * elements; }));
  Value sum;
  for_weighted(images, dims, begin, [&](const Value& part) { sum = sum.defined() ? sum + part : part; });
  return channels_second(sum);
}

/// Converts a coordinate from -1 to 1 to a position in elements. A position outside may be reflected or moved to the
/// border. With cubic interpolation, positions are not moved to the border: moved_inside() moves each neighbour
/// separately, because the neighbours have different weights.
Value place_of(const Value& coordinate, std::int64_t size, const Sampling& sampling) {
  const auto length = static_cast<double>(size);
  const Value moved = coordinate + 1;
  const Value place = sampling.align_corners ? moved * ((length - 1) / 2) : (moved * length - 1) / 2;
  const Value whole = sampling.interpolation == Interpolation::nearest ? stop_gradient(round(place)) : place;
  const double edge = sampling.align_corners ? 0 : 0.5;
  const bool moves = sampling.interpolation != Interpolation::cubic;
  if (sampling.outside == Outside::border && moves) return clamped(whole, 0, length - 1);
  if (sampling.outside == Outside::reflection) return reflected(whole, -edge, length - 1 + edge);
  return whole;
}

/// Column `k` of the last dim.
Value column(const Value& x, std::int64_t k) {
  return squeeze(slice(x, -1, k, k + 1), {-1});
}

/// The neighbours, along one dim, of the samples of regions [r,4], as [r,parts,samples]. A region extends from its
/// column `side` to its column `side` + 2 and is cut into `parts`. The image has `size` elements.
std::vector<Neighbour> region_samples(const Value& regions, std::int64_t side, std::int64_t parts, std::int64_t size,
                                      const Regions& cut) {
  const Value begin = column(regions, side);
  const Value end = column(regions, side + 2);
  const double edge = cut.half_pixel ? 0.5 : 0;
  const Value first = begin * cut.scale - edge;
  const Value last_edge = end * cut.scale - edge;
  Value length = last_edge - first;
  if (!cut.half_pixel) length = maximum(length, 1);
  const Value step = expand_dims(length / static_cast<double>(parts), {1, 2});
  const Tensor steps = numbers(begin.dtype(), {parts, cut.samples}, [&](std::int64_t i) {
    const std::int64_t part = i / cut.samples, sample = i % cut.samples;
    return static_cast<double>(part) + (static_cast<double>(sample) + 0.5) / static_cast<double>(cut.samples);
  });
  const Value moved = step * begin.graph().constant(steps);
  const Value place = moved + expand_dims(first, {1, 2});
  const auto last = static_cast<double>(size - 1);
  const Value is_near = between(place, -1, last + 1);
  std::vector<Neighbour> both = neighbours(clamped(place, 0, last), Interpolation::linear);
  for (Neighbour& neighbour : both) {
    neighbour.weight = select(is_near, neighbour.weight, 0);
    neighbour.index = clamped(neighbour.index, 0, last);
  }
  return both;
}

/// Inserts dims of size 1, so that dims 1 and 2 of positions are for rows, and dims 3 and 4 for columns.
void insert_dims(std::vector<Neighbour>& neighbours, const Ints& axes) {
  for (Neighbour& neighbour : neighbours) {
    neighbour.index = expand_dims(neighbour.index, axes);
    neighbour.weight = expand_dims(neighbour.weight, axes);
  }
}

std::vector<Shape> regions_shape(const OpFacts& facts) {
  const Shape &images = facts.shape(0), &regions = facts.shape(1), &of = facts.shape(2);
  if (images.rank() != 4) OpFacts::fail("images are [n,channels,rows,columns], not " + images.str());
  if (regions.rank() != 2 || (regions[1].known() && regions[1] != Dim(4)))
    OpFacts::fail("regions are [r,4], not " + regions.str());
  if (of.rank() != 1 || (of[0].known() && regions[0].known() && of[0] != regions[0]))
    OpFacts::fail("each region has the number of its image, [r], not " + of.str() + " for " + regions.str());
  for (const char* parts : {"rows", "columns"})
    if (facts.attr<std::int64_t>(parts) < 1) OpFacts::fail(std::string(parts) + " are not positive");
  return {Shape{regions[0], facts.shape(0)[1], facts.attr<std::int64_t>("rows"), facts.attr<std::int64_t>("columns")}};
}

constexpr AttrDef kRoiAttrs[] = {
    {"columns", "int"}, {"half_pixel", "bool"}, {"largest", "bool"}, {"rows", "int"}, {"scale", "float"}};

// Not built from other ops, because the number of samples differs between regions.
constexpr OpDef kRoiAlign{.name = "RoiAlign",
                          .types = "T,T,int64->T",
                          .T = kFloats,
                          .attrs = kRoiAttrs,
                          .index = "(n)c(h)(w),r(k),r->rc[p][q]",
                          .infer = regions_shape,
                          .flops = 30,
                          .no_grad = "how many samples it takes depends on the regions"};

constexpr const OpDef* kSampleOps[] = {&kRoiAlign};

}  // namespace

Value grid_sample(const Value& x, const Value& grid, const Sampling& sampling, source_location at) {
  const Scope here = caller_scope(graph_of({{x, grid}}, at), at);
  const Ints sizes = known_sizes("grid_sample", x, 0, at);
  const Ints places = known_sizes("grid_sample", grid, 0, at);
  const std::size_t dims = sizes.size() < 3 ? 0 : sizes.size() - 2;
  if (dims == 0 || places.size() != sizes.size() || places[0] != sizes[0] ||
      places.back() != static_cast<std::int64_t>(dims))
    fail("grid_sample", x, "a grid of " + grid.shape().str() + " does not fit", at);
  return in_float32({x, grid}, at, [&](const Values& v) {
    Values coordinates;
    for (std::size_t d = 0; d < dims; ++d)
      coordinates.push_back(place_of(column(v[1], static_cast<std::int64_t>(dims - 1 - d)), sizes[d + 2], sampling));
    return sampled(v[0], sizes, coordinates, sampling);
  });
}

Value affine_grid(const Value& theta, const Ints& sizes, bool align_corners, source_location at) {
  Graph& graph = graph_of({{theta}}, at);
  const Scope here = caller_scope(graph, at);
  const auto dims = static_cast<std::int64_t>(sizes.size());
  if (theta.rank() != 3 || theta.shape()[1] != Dim(dims) || theta.shape()[2] != Dim(dims + 1) || dims < 2 || dims > 3)
    fail("affine_grid", theta, "must be [n,k,k + 1] for images of k dims, two or three", at);
  // Row p of the base has the coordinates of element p (the last dim's first), and a 1.
  const DType wide = is_half(theta.dtype()) ? DType::float32 : theta.dtype();
  const Tensor base = numbers(wide, {checked_count(sizes), dims + 1}, [&](std::int64_t i) {
    std::int64_t element = i / (dims + 1), k = i % (dims + 1);
    if (k == dims) return 1.0;
    auto d = static_cast<std::size_t>(dims - 1);
    for (; k > 0; --k, --d) element /= sizes[d];
    const auto index = static_cast<double>(element % sizes[d]), size = static_cast<double>(sizes[d]);
    if (align_corners) return size > 1 ? 2 * index / (size - 1) - 1 : -1.0;
    return (2 * index + 1) / size - 1;
  });
  Ints shape{-1};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.push_back(dims);
  return in_float32({theta}, at,
                    [&](const Values& v) { return reshape(matmul(graph.constant(base), v[0], false, true), shape); });
}

Value roi_align(const Value& x, const Value& regions, const Value& images, const Regions& cut, source_location at) {
  const Scope here = caller_scope(graph_of({{x, regions, images}}, at), at);
  const Ints sizes = known_sizes("roi_align", x, 4, at);
  if (regions.rank() != 2 || images.rank() != 1 || cut.samples < 0 || cut.rows < 1 || cut.columns < 1)
    fail("roi_align", regions, "must be [r,4], the images " + images.shape().str() + " [r], sizes at least 1", at);
  if (cut.samples == 0)
    return make_one(kRoiAlign, {x, regions, cast(images, DType::int64)}, at,
                    {{"columns", cut.columns},
                     {"half_pixel", cut.half_pixel},
                     {"largest", cut.largest},
                     {"rows", cut.rows},
                     {"scale", cut.scale}});
  const Rows all(x, sizes);
  NeighboursPerDim dims{region_samples(regions, 1, cut.rows, sizes[2], cut),
                        region_samples(regions, 0, cut.columns, sizes[3], cut)};
  insert_dims(dims[0], {3, 4});
  insert_dims(dims[1], {1, 2});
  const Value image = check_range(cast(images, DType::int64), sizes[0], IndexKind::image, {}, at);
  const Value begin = expand_dims(image * all.elements(), {1, 2, 3, 4});
  Value joined;  // [r,rows,samples,columns,samples,channels]
  for_weighted(all, dims, begin, [&](const Value& part) {
    joined = !joined.defined() ? part : cut.largest ? maximum(joined, part) : joined + part;
  });
  return channels_second(cut.largest ? max(joined, {2, 4}) : mean(joined, {2, 4}));
}

Value deform_conv(const Value& x, const Value& w, const Value& offsets, const Deforming& deforming,
                  source_location at) {
  Graph& graph = graph_of({{x, w, offsets}}, at);
  const Scope here = caller_scope(graph, at);
  const Ints image = known_sizes("deform_conv", x, 4, at), filter = known_sizes("deform_conv", w, 4, at);
  const Ints given = known_sizes("deform_conv", offsets, 4, at);
  const std::int64_t taps = filter[2] * filter[3], groups = deforming.offset_groups;
  const auto or_all = [](const Ints& list, std::int64_t number) { return list.empty() ? Ints{number, number} : list; };
  const Ints strides = or_all(deforming.sliding.strides, 1), dilations = or_all(deforming.sliding.dilations, 1);
  const Ints padding = or_all(deforming.sliding.padding, 0);
  if (groups < 1 || image[1] % groups != 0 || given[0] != image[0] || given[1] != groups * taps * 2 ||
      strides.size() != 2 || dilations.size() != 2 || padding.size() < 2)
    fail("deform_conv", offsets, "do not fit x " + x.shape().str() + " and w " + w.shape().str(), at);
  // The positions of taps without offsets, [taps,p,q], for rows (side 0) or columns (side 1).
  const auto places = [&](std::size_t side) {
    return graph.constant(numbers(x.dtype(), {taps, given[2], given[3]}, [&](std::int64_t i) {
      const std::int64_t tap = i / (given[2] * given[3]), p = i / given[3] % given[2], q = i % given[3];
      const std::int64_t k = side == 0 ? tap / filter[3] : tap % filter[3];
      return static_cast<double>((side == 0 ? p : q) * strides[side] - padding[side] + k * dilations[side]);
    }));
  };
  const Value rows = places(0), columns = places(1);
  const Value moved = reshape(offsets, {given[0], groups, taps, 2, given[2], given[3]});
  const Value mask =
      deforming.mask.defined() ? reshape(deforming.mask, {given[0], groups, 1, taps, given[2], given[3]}) : Value();
  Values parts;
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto of_group = [&](std::int64_t side) {
      return squeeze(slice(moved, {1, 3}, {g, side}, {g + 1, side + 1}), {1, 3});
    };
    const Value row = of_group(0) + rows;
    const Value place = of_group(1) + columns;
    const std::int64_t channels = image[1] / groups;
    const Value block = groups == 1 ? x : slice(x, 1, g * channels, (g + 1) * channels);
    Value part = sampled(block, {image[0], channels, image[2], image[3]}, {row, place}, {});
    if (mask.defined()) part = part * squeeze(slice(mask, 1, g, g + 1), {1});
    parts.push_back(part);
  }
  const Value under =
      reshape(parts.size() == 1 ? parts[0] : concat(parts, 1), {image[0], image[1] * taps, given[2], given[3]});
  return conv2d(under, reshape(w, {filter[0], filter[1] * taps, 1, 1}), {}, deforming.groups);
}

std::span<const OpDef* const> sample_ops() {
  return kSampleOps;
}

}  // namespace ferry
