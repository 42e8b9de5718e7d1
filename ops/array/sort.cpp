#include "ops/array/sort.hpp"

#include <algorithm>
#include <cmath>

#include "graph/op/op_work.hpp"
#include "ops/array/scatter.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"

namespace ferry {
namespace {

/// Returns index notation such as "a[n]b->a[k]b,a[k]b".
std::string top_k_index(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string after = letters.next(facts.shape(0).rank() - axis - 1);
  const std::string all = before + whole(letters.next()) + after;
  const std::string found = before + implied(letters.next()) + after;
  return all + "->" + found + "," + found;
}

std::vector<Shape> top_k_shape(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  const auto k = facts.attr<std::int64_t>("k");
  Shape shape = facts.shape(0);
  const Dim& size = shape[axis];
  if (k >= 0 && size.bounded()) {
    shape[axis] = Dim::at_most(std::min(k, size.size()));
    return {shape, shape};
  }
  if (k < 0 || (size.known() && k > size.size()))
    OpFacts::fail("k is " + std::to_string(k) + ", dim " + std::to_string(axis) + " of " + shape.str());
  shape[axis] = k;
  return {shape, shape};
}

Values top_k_grad(GradCtx& g) {
  const Value zeros = zeros_like(g.like());
  return {scatter_elements(zeros, g.out(1), g.dout(0), g.attrs().get<std::int64_t>("axis"), Scatter::add)};
}

/// Returns index notation such as "[m][r]->[n][r],[n],[m],[n]". All dims are whole, because every row is compared with
/// every other row.
std::string unique_index(const OpFacts& facts) {
  const int rank = facts.shape(0).rank();
  Letters letters;
  const std::string all = whole(letters.next());
  const std::string found = implied(letters.next());
  std::string row;
  for (int d = 1; d < rank; ++d) row += whole(letters.next());
  return all + row + "->" + found + row + "," + found + "," + all + "," + found;
}

std::vector<Shape> unique_shape(const OpFacts& facts) {
  const Shape& x = facts.shape(0);
  if (x.rank() == 0) OpFacts::fail("a scalar has no rows");
  if (x.bounded()) OpFacts::fail("the first dim of " + x.str() + " is bounded");
  const Dim most = x[0].known() ? Dim::at_most(x[0].size()) : Dim::unknown();
  Shape values = x;
  values[0] = most;
  return {values, Shape{most}, Shape{x[0]}, Shape{most}};
}

constexpr AttrDef kTopKAttrs[] = {{"axis", "int"}, {"k", "int"}, {"largest", "bool"}};
constexpr AttrDef kUniqueAttrs[] = {{"sorted", "bool"}};
/// The flops of one comparison of two elements: a test for NaN, and a comparison in one or both directions.
constexpr double kCompareFlops = 2.5;

/// log2(n), at least 1.
double levels(double n) {
  return std::log2(std::max(n, 2.0));
}

/// A heap holds the k best elements of a line so far. Each element is compared with the root. In random data, element i
/// replaces the root with probability k / i, which takes two comparisons per level of the heap. Finally, a heap sort
/// orders the heap.
double top_k_flops(const OpFacts& facts, std::span<const Type> outputs) {
  const auto axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  const auto size = [&](const Shape& shape) {
    return shape[axis].known() ? static_cast<double>(shape[axis].size()) : 1;
  };
  const double n = size(facts.shape(0)), k = size(outputs[0].shape);
  if (n == 0 || k == 0) return 0;
  const double lines = known_count(facts.shape(0)) / n;
  return kCompareFlops * lines * (n + 2 * k * levels(k) * (1 + std::log(n / k)));
}

/// The rows are sorted and then read once. A comparison of two rows compares few elements, in both directions.
double unique_flops(const OpFacts& facts, std::span<const Type>) {
  const Shape& x = facts.shape(0);
  const double rows = x[0].known() ? static_cast<double>(x[0].size()) : 1;
  return 2 * kCompareFlops * rows * levels(rows) + known_count(x);
}

constexpr OpDef kTopK{.name = "TopK",
                      .types = "T->T,int64",
                      .attrs = kTopKAttrs,
                      .index_of = top_k_index,
                      .infer = top_k_shape,
                      .flops_of = top_k_flops,
                      .grad = top_k_grad};

constexpr OpDef kUnique{.name = "Unique",
                        .types = "T->T,int64,int64,int64",
                        .T = kAnyType,
                        .attrs = kUniqueAttrs,
                        .index_of = unique_index,
                        .infer = unique_shape,
                        .flops_of = unique_flops,
                        .no_grad = "which elements are equal depends on their values"};

constexpr const OpDef* kSortOps[] = {&kTopK, &kUnique};

}  // namespace

TopK top_k(const Value& x, std::int64_t k, std::int64_t axis, bool largest, source_location at) {
  const Values out = make(kTopK, {{x}}, {{"axis", axis}, {"k", k}, {"largest", largest}}, at);
  return {out[0], out[1]};
}

Unique unique(const Value& x, bool sorted, source_location at) {
  const Values out = make(kUnique, {{x}}, {{"sorted", sorted}}, at);
  return {out[0], out[1], out[2], out[3]};
}

std::span<const OpDef* const> sort_ops() {
  return kSortOps;
}

}  // namespace ferry
