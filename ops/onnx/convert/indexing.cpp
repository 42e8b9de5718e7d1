// Converters of ops with indices as inputs or results.
#include "ops/array/indexing.hpp"

#include <algorithm>
#include <limits>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/array/sort.hpp"
#include "ops/image/boxes.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/onnx/sizes/rows.hpp"

namespace ferry::onnx {
namespace {

// ---- Gather and scatter ----

/// Gather along a dim of known size, for a value with its dims in another order (Out::perm).
Outs arranged_gather(const Out& x, const Value& indices, int axis) {
  const std::int64_t dim = x.perm[axis], more = indices.rank();
  if (dim == 0)
    Context::fail("it takes elements along a dim that is not the first, and the data decide the size of this dim");
  Ints perm;
  for (std::size_t d = 0; d < x.perm.size(); ++d) {
    if (static_cast<int>(d) != axis) perm.push_back(x.perm[d] < dim ? x.perm[d] : x.perm[d] + more - 1);
    for (std::int64_t k = 0; k < more && static_cast<int>(d) == axis; ++k) perm.push_back(dim + k);
  }
  return arranged(gather(x.value, indices, dim), perm);
}

Outs to_gather(Context& c) {
  const int axis = c.axis(0, c.integer("axis", 0));
  const Out x = c.out(0);
  const Value indices = c.in(1);
  if (!x.perm.empty()) return arranged_gather(x, indices, axis);
  if (axis == 0 || !indices.shape().bounded()) return gather(c.in(0), indices, axis);
  return first_to(gather(to_front(c.in(0), axis), indices, 0), axis, indices.rank());
}

/// ArrayFeatureExtractor of ONNX-ML: takes elements along the last dim. A vector is treated as one row.
Outs to_array_feature_extractor(Context& c) {
  const Value x = c.rank(0) == 1 ? expand_dims(c.in(0), {0}) : c.in(0);
  return gather(x, reshape(c.in(1), {-1}), x.rank() - 1);
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

/// x with its last dim moved to `axis`.
Value last_to(const Value& x, int axis) {
  Ints perm;
  for (int d = 0; d + 1 < x.rank(); ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, x.rank() - 1);
  return axis == x.rank() - 1 ? x : transpose(x, perm);
}

/// The element of `values` at position `place`, as a scalar.
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

/// Hardmax: 1 at the first of the largest elements along the axis, else 0.
Outs to_hardmax(Context& c) {
  const Value x = c.in(0);
  const int axis = c.axis(0, c.integer("axis", -1));
  const Value largest = argmax(x, axis);
  return last_to(one_hot(largest, c.size(0, axis), x.dtype()), axis);
}

/// Hardmax before operator set 13: works on all dims from the axis on together.
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
  c.no_effect({"sorted"});  // the results are always sorted
  const TopK found = top_k(c.in(0), k, axis, c.integer("largest", 1) != 0);
  return {found.values, found.indices};
}
Outs to_top_k_by_attribute(Context& c) {
  return best(c, c.integer("k"));
}
/// TopK with a k that is known only when a step runs.
Outs best_when_run(Context& c, const Number& k) {
  const int axis = c.axis(0, c.integer("axis", -1));
  c.no_effect({"sorted"});
  const Value x = to_front(c.in(0), axis);
  const Dim size = x.shape()[0];
  const std::int64_t most = size.known()                             ? std::min(size.size(), k.range.most)
                            : k.range.most == IntegerRange::kHighest ? c.size(0, axis)
                                                                     : k.range.most;
  const TopK found = top_k(x, most, 0, c.integer("largest", 1) != 0);
  const Value values = first_rows(c, found.values, k);
  return {first_to(values, axis), first_to(first_rows(c, found.indices, k), axis)};
}
Outs to_top_k(Context& c) {
  const Number k = c.number_of(1);
  return k.known() ? best(c, k.number()) : best_when_run(c, k);
}

// ---- Outputs with a size that depends on data: a bounded dim, which is the first dim of its value ----

Outs to_unique(Context& c) {
  const bool sorted = c.integer("sorted", 1) != 0, flat = !c.has_attr("axis");
  const int axis = flat ? 0 : c.axis(0, c.integer("axis"));
  const Value x = c.in(0);
  const Value rows = flat ? reshape(x, {-1}) : axis == 0 ? x : to_front(x, axis);
  const Unique found = unique(rows, sorted);
  return {first_to(found.values, axis), found.indices, found.inverse, found.counts};
}

/// NonZero of a known tensor: the positions as [rank, n].
Tensor places_of(const Tensor& x) {
  Ints found;
  for (std::int64_t i = 0; i < x.count(); ++i)
    if (x.number(i) != 0) found.push_back(i);
  const auto rank = static_cast<std::int64_t>(x.sizes().size());
  const auto n = static_cast<std::int64_t>(found.size());
  Tensor places(DType::int64, {rank, n});
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = found[k];
    for (std::int64_t d = rank; d-- > 0; rest /= x.sizes()[d])
      places.mutable_data<std::int64_t>()[d * n + k] = rest % x.sizes()[d];
  }
  return places;
}

Outs to_nonzero(Context& c) {
  if (c.rank(0) == 0) return places_of(c.constant(0));
  if (const Tensor known = c.constant_if(0); known.defined()) return places_of(known);
  return first_to(nonzero(c.in(0)), 1);
}

Outs to_compress(Context& c) {
  const bool flat = !c.has_attr("axis");
  const int axis = flat ? 0 : c.axis(0, c.integer("axis"));
  const Value x = c.in(0);
  const Value rows = flat ? reshape(x, {-1}) : axis == 0 ? x : to_front(x, axis);
  return first_to(gather(rows, squeeze(nonzero(c.in(1)), {1}), 0), axis);
}

/// Reshapes boxes [1,n,4] to [n,4], or scores [1,1,n] to [n], if n is known only when a step runs.
Value rows_of_one(Context& c, int i, const Shape& row) {
  const Out x = c.out(i);
  const Shape shape = c.type(i).shape;
  for (int d = 0; d + 1 + row.rank() < shape.rank(); ++d)
    if (shape[d] != Dim(1))
      Context::fail("the data decide the number of boxes, which may be so of one image and class, not of " +
                    shape.str());
  Ints to = row.sizes();
  to.insert(to.begin(), -1);
  return reshape(x.perm.empty() ? x.value : in_row_order(x), to);
}

Outs to_non_max_suppression(Context& c) {
  const bool one = c.type(0).shape.bounded() || c.type(1).shape.bounded();
  const Value boxes = one ? rows_of_one(c, 0, {4}) : c.in(0);
  const Value scores = one ? rows_of_one(c, 1, {}) : c.in(1);
  const auto most = c.has(2) ? c.whole_number(2) : 0;
  const double overlap = c.has(3) ? c.number(3) : 0;
  const double score = c.has(4) ? c.number(4) : -std::numeric_limits<double>::infinity();
  return non_max_suppression(boxes, scores, most, overlap, score, c.integer("center_point_box", 0) != 0);
}

constexpr ConvertOp kIndexing[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, to_array_feature_extractor},
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

std::span<const ConvertOp> indexing_converters() {
  return kIndexing;
}

}  // namespace ferry::onnx
