// Ops whose inputs or results are indices.
#include "ops/indexing.hpp"

#include <limits>
#include <numeric>

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

/// `updates` [batch, …, n, …] written into x [batch, …, size, …] along `axis`, from the place that input 2 says for
/// each of the batch on; past the end, with mode "circular", to the beginning.
Outs to_tensor_scatter(Context& c) {
  const int axis = c.axis(0, c.integer("axis", -2));
  const Ints sizes = c.sizes(1);
  if (axis == 0 || axis >= static_cast<int>(sizes.size())) Context::fail("axis 0 is that of the batch");
  const std::int64_t count = sizes[static_cast<std::size_t>(axis)];
  Tensor steps(DType::int64, {count});
  std::iota(steps.mutable_data<std::int64_t>().begin(), steps.mutable_data<std::int64_t>().end(), 0);
  Ints along(sizes.size(), 1), batch(sizes.size(), 1);
  along[static_cast<std::size_t>(axis)] = count;
  batch[0] = sizes[0];
  const Value x = c.in(0);
  const Value updates = c.in(1);
  Value places = reshape(c.graph().constant(steps), along);
  if (c.has(2)) places = places + reshape(cast(c.in(2), DType::int64), batch);
  if (c.text("mode", "linear") == "circular") places = mod(places, static_cast<double>(c.size(0, axis)));
  return scatter_elements(x, broadcast_to(places, sizes), updates, axis);
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

Outs to_unique(Context& c) {
  const Value x = c.in(0);
  if (c.has_attr("axis") && c.axis(0, c.integer("axis")) != 0)
    Context::fail("its size along an axis that is not the first one is known only when it runs");
  const Unique found = unique(c.has_attr("axis") ? x : reshape(x, {-1}), c.integer("sorted", 1) != 0);
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
  const Value indices = c.graph().constant(
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(taken.size())}, std::span<const std::int64_t>(taken)));
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
    {"TensorScatter", 24, to_tensor_scatter},
    {"TopK", 1, to_top_k_by_attribute},
    {"TopK", 10, to_top_k},
    {"Unique", 11, to_unique},
};

}  // namespace

std::span<const Converter> indexing_converters() {
  return kIndexing;
}

}  // namespace ferry::onnx
