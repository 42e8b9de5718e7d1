#include "ops/onnx/sizes/ranges.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "ops/array/array.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kMostSeparateRanges =
    64;                         // a value with more elements is no list of sizes: one range is for all
constexpr int kMostDeep = 500;  // limit of the recursion from ops to the ops of their inputs
constexpr IntegerRange kTruth{0, 1};

IntegerRange all_of(const RangeList& list) {
  IntegerRange range = list[0];
  for (const IntegerRange& one : list) range = either(range, one);
  return range;
}

/// The number of elements if each has a range of its own, else 0.
std::size_t separate_range_count(const Shape& shape) {
  if (!shape.fixed()) return 0;
  const std::int64_t count = shape.count();
  return count <= kMostSeparateRanges ? static_cast<std::size_t>(count) : 0;
}

/// The range of element i of n elements. If the list has another length, its value is broadcast; the result then covers
/// all ranges in the list.
IntegerRange element(const RangeList& list, std::size_t i, std::size_t n) {
  return list.size() == n ? list[i] : all_of(list);
}

/// The facts from which an op's rule finds its ranges.
struct Facts {
  IntegerRanges& ranges;
  Op op;
  Shape shape;  ///< of the output

  [[nodiscard]] Value value(std::size_t i) const {
    return const_cast<Graph&>(op.graph()).value(op.inputs()[i]);  // NOLINT: a Value is a reference
  }
  [[nodiscard]] const Type& type(std::size_t i) const { return op.graph().type(op.inputs()[i]); }
  [[nodiscard]] const RangeList& in(std::size_t i) const { return ranges.of(value(i)); }
};

using Rule = RangeList (*)(const Facts&);

template <IntegerRange (*f)(const IntegerRange&, const IntegerRange&)>
RangeList each_two(const Facts& facts) {
  const RangeList a = facts.in(0), b = facts.in(1);
  const std::size_t n =
      std::max(std::max(a.size(), b.size()) == 1 ? std::size_t{1} : separate_range_count(facts.shape), std::size_t{1});
  RangeList result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(f(element(a, i, n), element(b, i, n)));
  return result;
}

template <IntegerRange (*f)(const IntegerRange&)>
RangeList each_one(const Facts& facts) {
  RangeList result;
  for (const IntegerRange& one : facts.in(0)) result.push_back(f(one));
  return result;
}

IntegerRange plus(const IntegerRange& a, const IntegerRange& b) {
  return a + b;
}
IntegerRange minus(const IntegerRange& a, const IntegerRange& b) {
  return a - b;
}
IntegerRange times(const IntegerRange& a, const IntegerRange& b) {
  return a * b;
}
IntegerRange quotient(const IntegerRange& a, const IntegerRange& b) {
  return a / b;
}
IntegerRange is_equal(const IntegerRange& a, const IntegerRange& b) {
  if (a == b && (a.is_known() || !a.symbols.empty())) return IntegerRange::of(1);
  return a.most < b.least || b.most < a.least ? IntegerRange::of(0) : kTruth;
}
IntegerRange is_less(const IntegerRange& a, const IntegerRange& b) {
  if (a.is_open() || b.is_open()) return kTruth;
  return a.most < b.least ? IntegerRange::of(1) : a.least >= b.most ? IntegerRange::of(0) : kTruth;
}
IntegerRange inverted(const IntegerRange& a) {
  return IntegerRange::of(1) - a;
}
IntegerRange is_different(const IntegerRange& a, const IntegerRange& b) {
  return inverted(is_equal(a, b));
}
IntegerRange is_greater(const IntegerRange& a, const IntegerRange& b) {
  return is_less(b, a);
}
IntegerRange is_greater_or_equal(const IntegerRange& a, const IntegerRange& b) {
  return inverted(is_less(a, b));
}
IntegerRange is_less_or_equal(const IntegerRange& a, const IntegerRange& b) {
  return inverted(is_less(b, a));
}

RangeList same(const Facts& facts) {
  return facts.in(0);
}

RangeList any_of(const Facts& facts) {
  return {all_of(facts.in(0))};
}

RangeList of_constant(const Facts& facts) {
  const auto& tensor = facts.op.attrs().get<Tensor>("value");
  RangeList result;
  if (is_float(tensor.dtype()) || tensor.count() == 0 || tensor.count() > kMostSeparateRanges) return {IntegerRange()};
  for (std::int64_t i = 0; i < tensor.count(); ++i) result.push_back(IntegerRange::of(tensor.integer(i)));
  return result;
}

RangeList of_size(const Facts& facts) {
  const Shape& shape = facts.type(0).shape;
  Ints axes = facts.op.attrs().get<Ints>("axes");
  IntegerRange product = IntegerRange::of(1);
  for (int d = 0; d < shape.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) continue;
    const Dim& dim = shape[d];
    product = product * of_dim(dim);
  }
  return {product};
}

RangeList of_concat(const Facts& facts) {
  RangeList result;
  IntegerRange all;
  for (std::size_t i = 0; i < facts.op.inputs().size(); ++i) {
    const RangeList& part = facts.in(i);
    all = i == 0 ? all_of(part) : either(all, all_of(part));
    const std::size_t n = facts.type(i).shape.rank() == 1 ? separate_range_count(facts.type(i).shape) : 0;
    for (std::size_t k = 0; k < n; ++k) result.push_back(element(part, k, n));
  }
  if (result.empty() || result.size() != separate_range_count(facts.shape)) return {all};
  return result;
}

RangeList of_gather(const Facts& facts) {
  const RangeList &x = facts.in(0), &places = facts.in(1);
  const auto size = static_cast<std::int64_t>(x.size());
  if (facts.type(0).shape.rank() != 1 || size == 1) return {all_of(x)};
  RangeList result;
  for (const IntegerRange& place : places) {
    if (!place.is_known() || place.least < -size || place.least >= size) return {all_of(x)};
    result.push_back(x[place.least < 0 ? place.least + size : place.least]);
  }
  return result;
}

RangeList of_slice(const Facts& facts) {
  const RangeList x = facts.in(0);
  const Attrs& attrs = facts.op.attrs();
  if (facts.type(0).shape.rank() != 1 || x.size() == 1 || attrs.get<Ints>("axes").size() != 1) return {all_of(x)};
  const std::int64_t step = attrs.get<Ints>("step")[0];
  const SliceRange taken =
      slice_range(static_cast<std::int64_t>(x.size()), attrs.get<Ints>("begin")[0], attrs.get<Ints>("end")[0], step);
  RangeList result;
  for (std::int64_t k = 0; k < taken.count; ++k) result.push_back(x[taken.first + k * step]);
  return result.empty() ? RangeList{IntegerRange()} : result;
}

RangeList of_cast(const Facts& facts) {
  const DType from = facts.type(0).dtype;
  if (is_float(from)) return {IntegerRange()};
  const DType to = facts.op.attrs().get<DType>("dtype");
  if (to != DType::boolean) return facts.in(0);
  RangeList result;
  for (const IntegerRange& one : facts.in(0)) result.push_back(is_different(one, IntegerRange::of(0)));
  return result;
}

RangeList of_select(const Facts& facts) {
  const RangeList condition = facts.in(0), a = facts.in(1), b = facts.in(2);
  const std::size_t n = std::max(separate_range_count(facts.shape), std::size_t{1});
  RangeList result;
  for (std::size_t i = 0; i < n; ++i) {
    const IntegerRange taken = element(condition, i, n), yes = element(a, i, n), no = element(b, i, n);
    result.push_back(taken == IntegerRange::of(1) ? yes : taken == IntegerRange::of(0) ? no : either(yes, no));
  }
  return result;
}

/// Folds f over the ranges of all elements if each element has its own range; else returns a range without bounds.
template <IntegerRange (*f)(const IntegerRange&, const IntegerRange&)>
RangeList folded(const Facts& facts) {
  const RangeList& x = facts.in(0);
  const std::size_t n = separate_range_count(facts.type(0).shape);
  if (n == 0 || facts.shape.rank() > 0) return {IntegerRange()};
  IntegerRange result = element(x, 0, n);
  for (std::size_t i = 1; i < n; ++i) result = f(result, element(x, i, n));
  return {result};
}

/// The range of sums. If the number of terms is not fixed, it may be 0, so the range includes 0.
RangeList of_sum(const Facts& facts) {
  const Shape& from = facts.type(0).shape;
  if (separate_range_count(from) > 0 && facts.shape.rank() == 0) return folded<plus>(facts);
  if (!from.known()) return {IntegerRange()};
  const IntegerRange all = all_of(facts.in(0));
  return {either(IntegerRange::of(0), all * IntegerRange::of(from.count()))};
}

/// The range of positions in any dim of the input.
RangeList of_places(const Facts& facts) {
  const Shape& shape = facts.type(0).shape;
  std::int64_t most = 0;
  for (const Dim& dim : shape.dims()) {
    if (!dim.known()) return {IntegerRange{0, IntegerRange::kHighest}};
    most = std::max(most, dim.size() - 1);
  }
  return {IntegerRange{0, most}};
}

RangeList of_arange(const Facts& facts) {
  return {IntegerRange{0, std::max<std::int64_t>(facts.op.attrs().get<std::int64_t>("most") - 1, 0)}};
}

/// The range of the value that the parameter captures; a range without bounds if the parameter is carried by a loop.
RangeList of_parameter(const Facts& facts) {
  const Graph& graph = facts.op.graph();
  const auto captured = graph.captured_by(facts.op.output(0));
  return captured ? facts.ranges.of(graph.parent()->value(*captured)) : RangeList{IntegerRange()};
}

struct NamedRule {
  std::string_view op;
  Rule rule;
};
constexpr std::array kRules{NamedRule{"Add", each_two<plus>},
                            NamedRule{"And", each_two<smaller>},
                            NamedRule{"Arange", of_arange},
                            NamedRule{"ArgMax", of_places},
                            NamedRule{"ArgMin", of_places},
                            NamedRule{"BroadcastLike", any_of},
                            NamedRule{"BroadcastTo", any_of},
                            NamedRule{"Cast", of_cast},
                            NamedRule{"Concat", of_concat},
                            NamedRule{"Constant", of_constant},
                            NamedRule{"Div", each_two<quotient>},
                            NamedRule{"Equal", each_two<is_equal>},
                            NamedRule{"ExpandDims", same},
                            NamedRule{"Gather", of_gather},
                            NamedRule{"Greater", each_two<is_greater>},
                            NamedRule{"GreaterEqual", each_two<is_greater_or_equal>},
                            NamedRule{"Identity", same},
                            NamedRule{"Less", each_two<is_less>},
                            NamedRule{"LessEqual", each_two<is_less_or_equal>},
                            NamedRule{"Max", folded<larger>},
                            NamedRule{"Maximum", each_two<larger>},
                            NamedRule{"Min", folded<smaller>},
                            NamedRule{"Minimum", each_two<smaller>},
                            NamedRule{"Mul", each_two<times>},
                            NamedRule{"Neg", each_one<negated>},
                            NamedRule{"NonZero", of_places},
                            NamedRule{"Not", each_one<inverted>},
                            NamedRule{"NotEqual", each_two<is_different>},
                            NamedRule{"Or", each_two<larger>},
                            NamedRule{"Parameter", of_parameter},
                            NamedRule{"Prod", folded<times>},
                            NamedRule{"Reshape", same},
                            NamedRule{"ReshapeRows", any_of},
                            NamedRule{"Select", of_select},
                            NamedRule{"SizeOf", of_size},
                            NamedRule{"Slice", of_slice},
                            NamedRule{"Squeeze", same},
                            NamedRule{"StopGradient", same},
                            NamedRule{"Sub", each_two<minus>},
                            NamedRule{"Sum", of_sum},
                            NamedRule{"Transpose", any_of}};

IntegerRange of_dtype(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return kTruth;
    case DType::uint8:
      return {0, std::numeric_limits<std::uint8_t>::max()};
    case DType::int8:
      return {std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()};
    case DType::uint16:
      return {0, std::numeric_limits<std::uint16_t>::max()};
    case DType::int16:
      return {std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()};
    default:
      return {};
  }
}

/// The range of the numbers after they are stored in the dtype: the whole range of the dtype if a number may overflow.
IntegerRange range_in_dtype(const IntegerRange& range, DType dtype) {
  const IntegerRange all = of_dtype(dtype);
  const IntegerRange in_32 = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  const IntegerRange& limits = dtype == DType::int32 ? in_32 : all;
  const bool fits = range.least >= limits.least && range.most <= limits.most;
  if (!range.symbols.empty()) return range;
  return fits && !(dtype == DType::uint32 && range.least < 0) && dtype != DType::uint64 ? range : all;
}

}  // namespace

const RangeList& IntegerRanges::of(const Value& value) {
  const std::pair<const Graph*, ValueId> key{&value.graph(), value.id()};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  RangeList list = found(value);
  return known_.emplace(key, std::move(list)).first->second;
}

RangeList IntegerRanges::found(const Value& value) {
  const DType dtype = value.dtype();
  const Op op = value.op();
  const auto* rule =
      std::find_if(kRules.begin(), kRules.end(), [&](const NamedRule& one) { return one.op == op.def().name; });
  const bool second_of_top_k = op.def().name == "TopK" && op.output(0) != value.id();
  if (is_float(dtype) || (rule == kRules.end() && !second_of_top_k) || depth_ == kMostDeep) return {of_dtype(dtype)};
  ++depth_;
  const Facts facts{*this, op, value.shape()};
  RangeList list = second_of_top_k ? of_places(facts) : rule->rule(facts);
  --depth_;
  for (IntegerRange& range : list) range = range_in_dtype(range, dtype);
  return list;
}

}  // namespace ferry::onnx
