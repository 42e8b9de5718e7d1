#include "ops/image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// One dim to resize, from `from` to `to` elements.
struct Resized {
  int axis = 0;
  std::int64_t from = 0, to = 0;
  double scale = 1, begin = 0, end = 1;
  double length = 0;  ///< scale * from, not rounded; for nearest neighbours `to`, as in onnxruntime
};

/// The position of new element i in the original dim, computed in T.
template <class T>
T place(const Resized& dim, Coordinates coordinates, std::int64_t i) {
  const auto index = static_cast<T>(i), from = static_cast<T>(dim.from), scale = static_cast<T>(dim.scale);
  const T half = 0.5, to = static_cast<T>(dim.length);
  switch (coordinates) {
    case Coordinates::half_pixel_symmetric: {
      const T lost = from / 2 * (1 - static_cast<T>(dim.to) / (scale * from));
      return static_cast<T>(lost + (static_cast<double>(index) + 0.5) / scale - 0.5);  // onnxruntime adds in float64
    }
    case Coordinates::pytorch_half_pixel:
      return dim.to > 1 ? (index + half) / scale - half : 0;
    case Coordinates::half_pixel_floor:
      return (index + half) / scale;
    case Coordinates::align_corners:
      return to > 1 ? index * (from - 1) / (to - 1) : 0;
    case Coordinates::asymmetric:
      return index / scale;
    case Coordinates::crop: {
      const auto begin = static_cast<T>(dim.begin), end = static_cast<T>(dim.end);
      return to > 1 ? begin * (from - 1) + index * (end - begin) * (from - 1) / (to - 1)
                    : (begin + end) / 2 * (from - 1);
    }
    case Coordinates::half_pixel:
      break;
  }
  return (index + half) / scale - half;
}

/// The original element that is nearest to new element i. As in onnxruntime, the position is computed in float32, and a
/// tie is recognized: docs/internals/decisions/nearest_neighbours.md.
std::int64_t nearest(const Resizing& resizing, const Resized& dim, std::int64_t i) {
  constexpr float kTie = 1e-6F;
  const auto at = place<float>(dim, resizing.coordinates, i);
  const float below = std::clamp(std::floor(at), -1.0F, static_cast<float>(dim.from)), behind = at - below;
  const bool is_tie = std::abs(behind - 0.5F) <= kTie;
  bool is_above = behind > 0.5F;
  if (resizing.rounding == Rounding::floor) is_above = false;
  if (resizing.rounding == Rounding::ceil) is_above = behind > 0;
  if (resizing.rounding == Rounding::prefer_floor) is_above = is_above && !is_tie;
  if (resizing.rounding == Rounding::prefer_ceil) is_above = is_above || is_tie;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(below) + (is_above ? 1 : 0), 0, dim.from - 1);
}

/// The weight of a neighbour at this distance from the position of a new element.
double weight(const Resizing& resizing, double distance) {
  const double d = std::abs(distance);
  if (resizing.interpolation == Interpolation::linear) return std::max(0.0, 1 - d);
  const double a = resizing.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Numbers of original elements, with their weights.
using Weights = std::vector<std::pair<std::int64_t, double>>;

/// The weights of a new element at position `at`.
Weights weights_at(const Resizing& resizing, const Resized& dim, double at) {
  const double shrunk = resizing.antialias ? std::min(1.0, dim.scale) : 1;
  const double reach = (resizing.interpolation == Interpolation::linear ? 1 : 2) / shrunk;
  Weights weights;
  double total = 0;
  for (auto k = static_cast<std::int64_t>(std::floor(at - reach)) + 1; static_cast<double>(k) < at + reach; ++k) {
    if (resizing.exclude_outside && (k < 0 || k >= dim.from)) continue;
    weights.emplace_back(std::clamp<std::int64_t>(k, 0, dim.from - 1),
                         weight(resizing, (at - static_cast<double>(k)) * shrunk));
    total += weights.back().second;
  }
  for (auto& [element, share] : weights) share = total == 0 ? 0 : share / total;  // far outside: no neighbours
  return weights;
}

/// The weights of all new elements.
std::vector<Weights> all_weights(const Resizing& resizing, const Resized& dim) {
  std::vector<Weights> all;
  for (std::int64_t i = 0; i < dim.to; ++i)
    all.push_back(weights_at(resizing, dim, place<double>(dim, resizing.coordinates, i)));
  return all;
}

/// The matrix [to,from]: each row has the weights of one new element.
Tensor matrix(const Resizing& resizing, const Resized& dim, DType dtype) {
  Tensor tensor(dtype, {dim.to, dim.from});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> row(static_cast<std::size_t>(dim.from));
    auto to = tensor.mutable_data<T>().begin();
    for (const Weights& weights : all_weights(resizing, dim)) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const auto& [element, share] : weights) row[element] += share;
      to = std::transform(row.begin(), row.end(), to, [](double w) { return static_cast<T>(w); });
    }
  });
  return tensor;
}

/// The sizes of x with the dims [from, rank) joined into one dim.
Ints joined_sizes(const Value& x, int from) {
  Ints sizes;
  std::int64_t last = 1;
  for (int d = 0; d < x.rank(); ++d) {
    const std::int64_t size = x.shape()[d].known() ? x.shape()[d].size() : -1;
    if (d < from)
      sizes.push_back(size);
    else
      last = size < 0 || last < 0 ? -1 : last * size;
  }
  sizes.push_back(last);
  return sizes;
}

/// Applies the matrix m [to,from] to dim `axis` of x.
Value multiplied(const Value& x, const Value& m, int axis) {
  if (x.rank() == 1) return squeeze(matmul(m, expand_dims(x, {1})), {1});
  if (axis == x.rank() - 1) return matmul(x, m, false, true);
  if (axis == x.rank() - 2) return matmul(m, x);
  Ints sizes = joined_sizes(x, axis + 1);
  const Value y = matmul(m, reshape(x, sizes));
  sizes.pop_back();
  sizes[axis] = m.shape()[0].size();
  for (int d = axis + 1; d < x.rank(); ++d) sizes.push_back(x.shape()[d].known() ? x.shape()[d].size() : -1);
  return reshape(y, sizes);
}

Value picked(const Value& x, const Resizing& resizing, const Resized& dim) {
  Tensor indices(DType::int64, {dim.to});
  for (std::int64_t i = 0; i < dim.to; ++i) indices.mutable_data<std::int64_t>()[i] = nearest(resizing, dim, i);
  return gather(x, x.graph().constant(indices), dim.axis);
}

/// Resizes a dim that is so long that a matrix would be mostly zeros: gathers one neighbour after another and adds them
/// up, weighted.
Value gathered(const Value& x, const Resizing& resizing, const Resized& dim) {
  const std::vector<Weights> all = all_weights(resizing, dim);
  std::size_t most = 0;
  for (const Weights& weights : all) most = std::max(most, weights.size());
  Ints sizes(static_cast<std::size_t>(x.rank() - dim.axis), 1);
  sizes[0] = dim.to;
  Value sum;
  for (std::size_t t = 0; t < most; ++t) {
    Tensor elements(DType::int64, {dim.to}), shares(x.dtype(), sizes);
    dispatch(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (t >= all[i].size()) continue;
        elements.mutable_data<std::int64_t>()[i] = all[i][t].first;
        shares.mutable_data<T>()[i] = static_cast<T>(all[i][t].second);
      }
    });
    const Value picked = gather(x, x.graph().constant(elements), dim.axis);
    const Value part = picked * x.graph().constant(shares);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

/// Resizes a dim by linear or cubic interpolation.
Value interpolated(const Value& x, const Resizing& resizing, const Resized& dim) {
  constexpr std::int64_t kLong = 2048;
  if (dim.from > kLong || dim.to > 4 * kLong) return gathered(x, resizing, dim);
  return multiplied(x, x.graph().constant(matrix(resizing, dim, x.dtype())), dim.axis);
}

/// y with resizing.outside in place of new elements that are outside the original dim.
Value with_outside_value(const Value& y, const Resizing& resizing, const Resized& dim) {
  Ints sizes(static_cast<std::size_t>(y.rank() - dim.axis), 1);
  sizes[0] = dim.to;
  Tensor inside(DType::boolean, sizes);
  bool all = true;
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const auto at = place<float>(dim, resizing.coordinates, i);
    const bool is_inside = at >= 0 && at <= static_cast<float>(dim.from - 1);
    inside.mutable_data<bool>()[i] = is_inside;
    all = all && is_inside;
  }
  return all ? y : select(y.graph().constant(inside), y, resizing.outside);
}

[[noreturn]] void fail(const Value& x, const std::string& why, const SourceLine& line) {
  throw Error(Code::plan, "resize: of " + x.name() + " " + x.shape().str() + ": " + why).at(line);
}

Resized checked(const Value& x, const ResizedDim& dim, const Resizing& resizing, const SourceLine& line) {
  if (dim.axis < -x.rank() || dim.axis >= x.rank()) fail(x, "axis " + std::to_string(dim.axis), line);
  Resized resized{static_cast<int>(dim.axis < 0 ? dim.axis + x.rank() : dim.axis)};
  const Dim& size = x.shape()[resized.axis];
  if (!size.fixed() || size.size() < 1)
    fail(x, "the size of dim " + std::to_string(resized.axis) + " must be known and not 0", line);
  constexpr std::int64_t kMost = 1 << 24, kMostTimes = 4096;
  const std::int64_t larger = std::max(dim.size, size.size());
  if (dim.size < 1 || !(dim.scale >= 0) || larger > kMost || larger / std::min(dim.size, size.size()) > kMostTimes)
    fail(x, "a size of " + std::to_string(dim.size) + " for " + std::to_string(size.size()), line);
  resized.from = size.size();
  resized.to = dim.size;
  resized.scale = dim.scale > 0 ? dim.scale : static_cast<double>(dim.size) / static_cast<double>(resized.from);
  const bool rounds = dim.scale == 0 || resizing.interpolation == Interpolation::nearest;
  resized.length = rounds ? static_cast<double>(dim.size) : dim.scale * static_cast<double>(resized.from);
  resized.begin = dim.begin;
  resized.end = dim.end;
  return resized;
}

/// Whether each new element is its nearest neighbour in the whole image, not in a part of it.
bool takes_nearest(const Resizing& resizing) {
  return resizing.interpolation == Interpolation::nearest && resizing.coordinates != Coordinates::crop;
}

/// Whether resizing leaves this dim as it is.
bool is_same(const Resizing& resizing, const Resized& dim) {
  if (dim.from != dim.to) return false;
  if (takes_nearest(resizing) && dim.scale == 1) return true;
  for (std::int64_t i = 0; i < dim.to; ++i)
    if (place<double>(dim, resizing.coordinates, i) != static_cast<double>(i)) return false;
  return true;
}

/// The dims that resizing changes. With nearest neighbours, an image that keeps its size does not change, whatever the
/// scales.
std::vector<Resized> changed(const Value& x, const std::vector<ResizedDim>& dims, const Resizing& resizing,
                             const SourceLine& line) {
  std::vector<Resized> changed;
  for (const ResizedDim& dim : dims)
    if (const Resized one = checked(x, dim, resizing, line); !is_same(resizing, one)) changed.push_back(one);
  const bool sized = std::any_of(changed.begin(), changed.end(), [](const Resized& dim) { return dim.from != dim.to; });
  if (takes_nearest(resizing) && !sized) changed.clear();
  return changed;
}

}  // namespace

Value resize(const Value& x, const std::vector<ResizedDim>& dims, const Resizing& resizing, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const bool by_index = resizing.interpolation == Interpolation::nearest;
  if (!by_index && !is_float(x.dtype())) fail(x, "only nearest takes " + std::string(name_of(x.dtype())), at);
  const std::vector<Resized> parts = changed(x, dims, resizing, at);
  const auto resized = [&](const Values& v) {
    Value y = v[0];
    for (const Resized& dim : parts) y = by_index ? picked(y, resizing, dim) : interpolated(y, resizing, dim);
    if (resizing.coordinates == Coordinates::crop)
      for (const Resized& dim : parts) y = with_outside_value(y, resizing, dim);
    return y;
  };
  return by_index ? resized({x}) : in_float32({x}, at, resized);
}

}  // namespace ferry
