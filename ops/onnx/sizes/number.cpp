#include "ops/onnx/sizes/number.hpp"

#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kLongestStep = std::int64_t{1} << 40;  // beyond every possible size

template <class F>
Number computed(Graph& graph, const IntegerRange& range, const Number& a, const Number& b, const F& f) {
  if (range.is_known()) return range.least;
  const Value left = scalar_of(graph, a);
  const Value right = scalar_of(graph, b);
  return {range, f(left, right)};
}

}  // namespace

Value scalar_of(Graph& graph, const Number& number) {
  return number.known() ? graph.constant(Tensor::scalar<std::int64_t>(number.number())) : number.value;
}

Number sum_of(Graph& graph, const Number& a, const Number& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return computed(graph, a.range + b.range, a, b, [](const Value& x, const Value& y) { return x + y; });
}

Number difference_of(Graph& graph, const Number& a, const Number& b) {
  if (b.is(0)) return a;
  return computed(graph, a.range - b.range, a, b, [](const Value& x, const Value& y) { return x - y; });
}

Number product_of(Graph& graph, const Number& a, const Number& b) {
  if (a.is(0) || b.is(1)) return a;
  if (b.is(0) || a.is(1)) return b;
  return computed(graph, a.range * b.range, a, b, [](const Value& x, const Value& y) { return x * y; });
}

Number smaller_of(Graph& graph, const Number& a, const Number& b) {
  if (a.range.most <= b.range.least) return a;
  if (b.range.most <= a.range.least) return b;
  return computed(graph, smaller(a.range, b.range), a, b, [](const Value& x, const Value& y) { return minimum(x, y); });
}

Number larger_of(Graph& graph, const Number& a, const Number& b) {
  if (a.range.least >= b.range.most) return a;
  if (b.range.least >= a.range.most) return b;
  return computed(graph, larger(a.range, b.range), a, b, [](const Value& x, const Value& y) { return maximum(x, y); });
}

Number steps_of(Graph& graph, const Number& a, std::int64_t step) {
  if (step == 1) return a;
  const Number up = sum_of(graph, a, std::min(step, kLongestStep) - 1);
  return computed(
      graph, {up.range.least / step, up.range.most == IntegerRange::kHighest ? up.range.most : up.range.most / step},
      up, step, [](const Value& n, const Value& by) { return n / by; });
}

std::optional<std::vector<Number>> numbers_of(const Value& x, const RangeList& ranges) {
  const Shape& shape = x.shape();
  const auto is_open = [](const IntegerRange& range) { return range.is_open(); };
  if (!shape.fixed() || shape.rank() > 1 || std::any_of(ranges.begin(), ranges.end(), is_open)) return std::nullopt;
  std::vector<Number> numbers;
  const std::int64_t count = shape.count();  // now, since making ops invalidates `shape`
  const Value flat = reshape(x, {-1});
  for (std::int64_t k = 0; k < count; ++k) {
    const IntegerRange& range = ranges.size() == 1 ? ranges[0] : ranges[k];
    if (range.is_known())
      numbers.emplace_back(range.least);
    else
      numbers.emplace_back(range, cast(reshape(slice(flat, 0, k, k + 1), {}), DType::int64));
  }
  return numbers;
}

Number size_along(const Value& x, int dim) {
  const Dim size = x.shape()[dim];
  if (size.fixed()) return size.size();
  return {of_dim(size), size_of(x, {dim}, DType::int64)};
}

}  // namespace ferry::onnx
