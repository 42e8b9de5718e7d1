// Ops whose inputs or results are indices.
#include "ops/indexing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "ops/array.hpp"
#include "ops/boxes.hpp"
#include "ops/broadcast.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"
#include "ops/scatter.hpp"
#include "ops/sort.hpp"

namespace ferry::onnx {
namespace {

// ---- Gather and scatter ----

Outs to_gather(Context& c) {
  const Value x = c.in(0);
  const Value indices = c.in(1);
  return gather(x, indices, c.axis(0, c.integer("axis", 0)));
}

Outs to_gather_elements(Context& c) {
  const Value x = c.in(0);
  const Value indices = c.in(1);
  return gather_elements(x, indices, c.axis(0, c.integer("axis", 0)));
}

Outs to_gather_nd(Context& c) {
  const Value x = c.in(0);
  const Value indices = c.in(1);
  return gather_nd(x, indices, c.integer("batch_dims", 0));
}

Scatter scatter_of(Context& c) {
  const std::string name = c.text("reduction", "none");
  if (name == "none") return Scatter::replace;
  if (name == "add") return Scatter::add;
  if (name == "mul") return Scatter::multiply;
  if (name == "max") return Scatter::largest;
  if (name == "min") return Scatter::smallest;
  Context::fail("its reduction is " + name);
}

Outs to_scatter_elements(Context& c) {
  const Value x = c.in(0);
  const Value indices = c.in(1);
  const Value updates = c.in(2);
  return scatter_elements(x, indices, updates, c.axis(0, c.integer("axis", 0)), scatter_of(c));
}

Outs to_scatter_nd(Context& c) {
  const Value x = c.in(0);
  const Value indices = c.in(1);
  const Value updates = c.in(2);
  return scatter_nd(x, indices, updates, 0, scatter_of(c));
}

// ---- Indices as masks ----

/// x, whose last dim is to be dim `axis`.
Value last_to(const Value& x, int axis) {
  Ints perm;
  for (int d = 0; d + 1 < x.rank(); ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, x.rank() - 1);
  return axis == x.rank() - 1 ? x : transpose(x, perm);
}

/// The element of `values` at this place, as a scalar.
Value element(const Value& values, std::int64_t place) {
  return reshape(slice(values, 0, place, place + 1), {});
}

Outs to_one_hot(Context& c) {
  const std::int64_t depth = c.whole_number(1);
  const int rank = c.rank(0) + 1;
  const std::int64_t given = c.integer("axis", -1);
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  if (axis < 0 || axis >= rank) Context::fail("axis " + std::to_string(given) + " is out of range");
  const Value values = c.in(2);
  const Value indices = cast(c.in(0), DType::int64);
  const Value from_end = indices + static_cast<double>(depth);
  const Value places = select(less(indices, 0), from_end, indices);
  const Value mask = last_to(one_hot(places, depth, DType::boolean), axis);
  const Value off = element(values, 0);
  const Value on = element(values, 1);
  return select(mask, on, off);
}

/// 1 at the first of the largest elements along the axis.
Outs to_hardmax(Context& c) {
  const Value x = c.in(0);
  const int axis = c.axis(0, c.integer("axis", -1));
  const Value largest = argmax(x, axis);
  return last_to(one_hot(largest, c.size(0, axis), x.dtype()), axis);
}

/// Before operator set 13: of all dims from the axis on together.
Outs to_hardmax_flat(Context& c) {
  const Value x = c.in(0);
  std::int64_t row = 1;
  for (int d = c.axis(0, c.integer("axis", 1)); d < x.rank(); ++d) row *= c.size(0, d);
  if (row == 0) return identity(x);
  const Value largest = argmax(reshape(x, {-1, row}), 1);
  return reshape_as(one_hot(largest, row, x.dtype()), x);
}

// ---- Order ----

Outs best(Context& c, std::int64_t k) {
  const std::int64_t axis = c.axis(0, c.integer("axis", -1));
  const TopK found = top_k(c.in(0), k, axis, c.integer("largest", 1) != 0);
  return {found.values, found.indices};
}
Outs to_top_k_by_attribute(Context& c) {
  return best(c, c.integer("k"));
}
Outs to_top_k(Context& c) {
  return best(c, c.whole_number(1));
}

/// Slices of a known tensor along an axis, ordered by their elements and then by their numbers.
class Slices {
 public:
  Slices(const Tensor& x, int axis) : x_(x), count_(x.sizes()[static_cast<std::size_t>(axis)]) {
    for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < x.sizes().size(); ++d) inner_ *= x.sizes()[d];
    order_.resize(static_cast<std::size_t>(count_));
    std::iota(order_.begin(), order_.end(), 0);
    dispatch(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      std::sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) {
        const int order = compare<T>(a, b);
        return order != 0 ? order < 0 : a < b;
      });
      for (std::size_t i = 0; i < order_.size(); ++i)
        if (i == 0 || compare<T>(order_[i - 1], order_[i]) != 0) groups_.push_back(i);
    });
  }
  [[nodiscard]] const Ints& order() const { return order_; }
  /// Where in the order each different slice begins.
  [[nodiscard]] const std::vector<std::size_t>& groups() const { return groups_; }

 private:
  /// -1, 0 or 1; NaN counts as larger than all numbers.
  template <class T>
  [[nodiscard]] int compare(std::int64_t a, std::int64_t b) const {
    using Number = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;
    const std::span<const T> data = x_.data<T>();
    const auto at = [&](std::int64_t slice, std::int64_t k) {
      return static_cast<Number>(data[static_cast<std::size_t>((k / inner_ * count_ + slice) * inner_ + k % inner_)]);
    };
    const std::int64_t width = count_ == 0 ? 0 : x_.count() / count_;
    for (std::int64_t k = 0; k < width; ++k) {
      const Number left = at(a, k), right = at(b, k);
      const bool left_is_nan = left != left, right_is_nan = right != right;
      if (left < right || (!left_is_nan && right_is_nan)) return -1;
      if (right < left || (left_is_nan && !right_is_nan)) return 1;
    }
    return 0;
  }

  const Tensor& x_;
  std::int64_t count_, inner_ = 1;
  Ints order_;
  std::vector<std::size_t> groups_;
};

Tensor tensor_of_ints(const Ints& numbers) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, std::span<const std::int64_t>(numbers));
}

/// Along an axis that is not the first one: computed from the input's value, since the size found stands behind.
Outs unique_along(Context& c, int axis, bool sorted) {
  const Tensor x = c.constant(0);
  const Slices slices(x, axis);
  std::vector<std::size_t> groups = slices.groups();
  const auto first = [&](std::size_t place) { return slices.order()[place]; };
  if (!sorted) std::sort(groups.begin(), groups.end(), [&](auto a, auto b) { return first(a) < first(b); });
  Ints indices, counts, inverse(slices.order().size());
  for (const std::size_t begin : groups) {
    const auto after = std::upper_bound(slices.groups().begin(), slices.groups().end(), begin);
    const std::size_t end = after == slices.groups().end() ? slices.order().size() : *after;
    for (std::size_t i = begin; i < end; ++i)
      inverse[static_cast<std::size_t>(first(i))] = static_cast<std::int64_t>(indices.size());
    indices.push_back(first(begin));
    counts.push_back(static_cast<std::int64_t>(end - begin));
  }
  const Tensor places = tensor_of_ints(indices);
  const Value values = gather(c.in(0), c.graph().constant(places), axis);
  return {values, places, tensor_of_ints(inverse), tensor_of_ints(counts)};
}

Outs to_unique(Context& c) {
  const bool sorted = c.integer("sorted", 1) != 0, flat = !c.has_attr("axis");
  const int axis = flat ? 0 : c.axis(0, c.integer("axis"));
  if (axis > 0) return unique_along(c, axis, sorted);
  const Value x = c.in(0);
  const Unique found = unique(flat ? reshape(x, {-1}) : x, sorted);
  return {found.values, found.indices, found.inverse, found.counts};
}

// ---- Sizes that depend on data: bounded, if they are those of the first dim ----

/// [rank, n], where n stands behind: computed from the input's value.
Outs to_nonzero(Context& c) {
  const Tensor x = c.constant(0);
  Ints found;
  for (std::int64_t i = 0; i < x.count(); ++i)
    if (x.number(i) != 0) found.push_back(i);
  const auto rank = static_cast<std::int64_t>(x.sizes().size());
  const auto n = static_cast<std::int64_t>(found.size());
  Tensor places(DType::int64, {rank, n});
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = found[static_cast<std::size_t>(k)];
    for (std::int64_t d = rank; d-- > 0; rest /= x.sizes()[static_cast<std::size_t>(d)])
      places.mutable_data<std::int64_t>()[static_cast<std::size_t>(d * n + k)] =
          rest % x.sizes()[static_cast<std::size_t>(d)];
  }
  return places;
}

Outs to_compress(Context& c) {
  const Value x = c.in(0);
  const bool flat = !c.has_attr("axis");
  const std::int64_t axis = flat ? 0 : c.axis(0, c.integer("axis"));
  const Value rows = flat ? reshape(x, {-1}) : x;
  if (axis == 0) return gather(rows, squeeze(nonzero(c.in(1)), {1}), 0);
  const Tensor condition = c.constant(1);  // the size stands behind
  Ints taken;
  for (std::int64_t i = 0; i < condition.count(); ++i)
    if (condition.integer(i) != 0) taken.push_back(i);
  const Value indices = c.graph().constant(tensor_of_ints(taken));
  return gather(rows, indices, axis);
}

Outs to_non_max_suppression(Context& c) {
  const Value boxes = c.in(0);
  const Value scores = c.in(1);
  const auto most = c.has(2) ? c.whole_number(2) : 0;
  const double overlap = c.has(3) ? c.number(3) : 0;
  const double score = c.has(4) ? c.number(4) : -std::numeric_limits<double>::infinity();
  return non_max_suppression(boxes, scores, most, overlap, score, c.integer("center_point_box", 0) != 0);
}

constexpr Converter kIndexing[] = {
    {"Compress", 9, to_compress},
    {"Gather", 1, to_gather},
    {"GatherElements", 11, to_gather_elements},
    {"GatherND", 11, to_gather_nd},
    {"Hardmax", 1, to_hardmax_flat},
    {"Hardmax", 13, to_hardmax},
    {"NonMaxSuppression", 10, to_non_max_suppression},
    {"NonZero", 9, to_nonzero},
    {"OneHot", 9, to_one_hot},
    {"Scatter", 9, to_scatter_elements},
    {"ScatterElements", 11, to_scatter_elements},
    {"ScatterND", 11, to_scatter_nd},
    {"TopK", 1, to_top_k_by_attribute},
    {"TopK", 10, to_top_k},
    {"Unique", 11, to_unique},
};

}  // namespace

std::span<const Converter> indexing_converters() {
  return kIndexing;
}

}  // namespace ferry::onnx
