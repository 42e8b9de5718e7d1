#include "ops/onnx/sizes/rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry::onnx {
namespace {

/// The position `at` in a dim with that size, clamped to [low, high]. A negative position counts from the end.
Number clamped_position(Graph& graph, const Number& at, const Number& size, const Number& low, const Number& high) {
  Number place = at;
  if (at.range.most < 0) {
    place = sum_of(graph, at, size);
  } else if (at.range.least < 0) {
    const Value given = scalar_of(graph, at);
    const Value from_end = given + scalar_of(graph, size);
    place = {either(larger(at.range, IntegerRange::of(0)), at.range + size.range),
             select(less(given, 0), from_end, given)};
  }
  return larger_of(graph, smaller_of(graph, place, high), low);
}

/// The vector as a value of rank `rank`: it becomes dim `dim`, and all other dims have size 1.
Value as_dim(const Value& vector, int dim, int rank) {
  Ints axes;
  for (int d = 0; d < rank; ++d)
    if (d != dim) axes.push_back(d);
  return expand_dims(vector, axes);
}

/// x with `count` rows: a single row is repeated; otherwise each step checks that x has this number of rows.
Value with_rows(Context& c, const Value& x, const Number& count) {
  return broadcast_as(x, as_dim(numbers_below(c, count), 0, x.rank()));
}

/// A vector with `size` elements, where `size` is a product of symbolic sizes. Only its size is used.
Value of_size(Context& c, const Number& size) {
  Value vector;
  const auto take = [&](const Value& next) {
    vector = vector.defined() ? reshape(broadcast_as(expand_dims(vector, {1}), as_dim(next, 1, 2)), {-1}) : next;
  };
  for (const std::string& symbol : size.range.symbols) take(c.of_size(symbol));
  if (size.range.factor > 1) {
    const Value one = c.graph().constant(Tensor(DType::boolean, Ints{}));
    take(broadcast_to(one, {size.range.factor}));
  }
  return vector;
}

/// x broadcast to the `sizes` that are known before a step runs; dims with other sizes remain unchanged.
Value with_sizes(Context& c, const Value& x, const std::vector<Number>& sizes) {
  Value y = x;
  const int rank = x.rank();
  Ints like;
  bool same = true;
  for (int d = 0; d < rank; ++d) {
    const Number& size = sizes[d];
    like.push_back(size.known() ? size.number() : 1);
    same = same && (like.back() == 1 || y.shape()[d] == Dim(like.back()));
    if (size.of_plan() && (size.symbol().empty() || y.shape()[d] != Dim(size.symbol())))
      y = broadcast_as(y, as_dim(of_size(c, size), d, rank));
  }
  if (same) return y;
  const Value one = y.graph().constant(Tensor(y.dtype(), Ints{}));  // broadcast_as() uses only the sizes of `one`
  return broadcast_as(y, broadcast_to(one, like));
}

/// The number of elements of a value: the product of the known sizes, and the sorted symbols of symbolic sizes.
struct Elements {
  std::int64_t known = 1;
  std::vector<std::string> symbols;
  bool known_before_step = true;  ///< false: some sizes are known only when a step runs
  void add(const Number& size) {
    known = checked_count(Ints{known, size.known() ? size.number() : size.range.factor});
    symbols.insert(symbols.end(), size.range.symbols.begin(), size.range.symbols.end());
    std::sort(symbols.begin(), symbols.end());
    known_before_step = known_before_step && !size.of_step();
  }
};

/// The size for a -1: the elements of a value divided by its other sizes. Nothing if this is not a known multiple of a
/// product of sizes. A size with symbols has no value, since with_sizes() needs none.
std::optional<Number> size_left(const Elements& from, const Elements& given) {
  if (!from.known_before_step || !given.known_before_step ||
      !std::includes(from.symbols.begin(), from.symbols.end(), given.symbols.begin(), given.symbols.end()))
    return std::nullopt;
  IntegerRange left{.least = 0};
  std::set_difference(from.symbols.begin(), from.symbols.end(), given.symbols.begin(), given.symbols.end(),
                      std::back_inserter(left.symbols));
  const bool fits = given.known != 0 && from.known % given.known == 0;
  if (!fits && left.symbols.empty()) Context::fail("its elements do not fit the shape");
  if (!fits) return std::nullopt;
  left.factor = from.known / given.known;
  if (left.symbols.empty() || left.factor == 0) return left.factor;
  return Number(left, Value());
}

/// A slice with a negative step: flips the dim, so that position p becomes size - 1 - p, and slices with a positive
/// step.
Value backwards(Context& c, const Value& x, int model_dim, std::int64_t dim, std::int64_t begin, std::int64_t end,
                std::int64_t step) {
  const std::int64_t size = c.size(0, model_dim);
  const auto turned = [size](std::int64_t at) {
    const std::int64_t place = at < -size ? -1 : (at < 0 ? at + size : std::min(at, size - 1));
    return size - 1 - place;
  };
  const std::int64_t stride = step == std::numeric_limits<std::int64_t>::min() ? kEnd : -step;
  return slice(flip(x, {dim}), dim, turned(begin), turned(end), stride);
}

}  // namespace

Value to_front(const Value& x, int axis) {
  Ints perm{axis};
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) perm.push_back(d);
  return axis == 0 ? x : transpose(x, perm);
}

Out first_to(const Value& x, int axis, int count) {
  Ints perm;
  for (int d = 0; d < axis; ++d) perm.push_back(count + d);
  for (int d = 0; d < count; ++d) perm.push_back(d);
  for (int d = axis + count; d < x.rank(); ++d) perm.push_back(d);
  return arranged(x, perm);
}

Ints order_of(const Out& out) {
  if (!out.perm.empty()) return out.perm;
  Ints order(static_cast<std::size_t>(out.value.rank()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Out unsqueezed(const Out& x, const Ints& axes) {
  const Ints order = order_of(x);
  Ints perm, added;
  auto next = order.begin();
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(order.size() + axes.size()); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) {
      perm.push_back(*next++);
    } else {
      added.push_back(static_cast<std::int64_t>(order.size() + added.size()));
      perm.push_back(added.back());
    }
  }
  return arranged(expand_dims(x.value, added), perm);
}

Value in_row_order(const Out& x) {
  if (x.perm.empty()) return x.value;
  Ints gone, left;
  const auto is_one = [&](std::int64_t dim) { return dim != 0 && x.value.shape()[static_cast<int>(dim)] == Dim(1); };
  for (const std::int64_t dim : x.perm) (is_one(dim) ? gone : left).push_back(dim);
  if (!std::is_sorted(left.begin(), left.end()))
    Context::fail("the data decide the size of a dim behind one of " +
                  x.value.shape()[static_cast<int>(left[0])].str() + ": it cannot be the first");
  return squeeze(x.value, gone);
}

Value numbers_below(Context& c, const Number& count) {
  if (count.of_plan()) {
    const Value one = c.graph().constant(Tensor::scalar<std::int64_t>(1));
    return cumsum(broadcast_as(one, of_size(c, count)), 0) - 1;
  }
  if (count.range.most == IntegerRange::kHighest) c.fail_unbounded(count);
  return arange(scalar_of(c.graph(), count), std::max<std::int64_t>(count.range.most, 0));
}

Value first_rows(Context& c, const Value& x, const Number& count) {
  return gather(x, numbers_below(c, count), 0);
}

Value rows_between(Context& c, const Value& x, int dim, const RowRange& range) {
  Graph& graph = c.graph();
  const bool forwards = range.step > 0;
  const Number size = size_along(x, dim);
  if (range.begin.is(0) && range.step == 1 && range.end.known() && range.end.number() >= size.range.most) return x;
  const Number low = forwards ? 0 : -1, high = forwards ? size : difference_of(graph, size, 1);
  const Number first = clamped_position(graph, range.begin, size, low, high);
  const Number last = range.of_plan() ? range.end : clamped_position(graph, range.end, size, low, high);
  const Number ahead = forwards ? difference_of(graph, last, first) : difference_of(graph, first, last);
  const std::int64_t stride = forwards                                                 ? range.step
                              : range.step == std::numeric_limits<std::int64_t>::min() ? kEnd
                                                                                       : -range.step;
  const Number count = steps_of(graph, larger_of(graph, ahead, 0), stride);
  Value rows = numbers_below(c, count);
  if (range.step != 1) rows = rows * scalar_of(graph, range.step);
  if (!first.is(0)) rows = rows + scalar_of(graph, first);
  return gather(x, rows, dim);
}

void Slices::take(std::int64_t axis, const RowRange& range) {
  if (range.step == 0) Context::fail("a step of 0");
  const int model_dim = c_.axis(0, axis);
  const std::int64_t dim = order_[model_dim];
  const bool known = range.begin.known() && range.end.known();
  if (known && !value_.shape()[static_cast<int>(dim)].bounded()) {
    const std::int64_t begin = range.begin.number(), end = range.end.number();
    value_ = range.step > 0 ? slice(value_, dim, begin, end, range.step)
                            : backwards(c_, value_, model_dim, dim, begin, end, range.step);
    return;
  }
  if (range.of_plan() && !value_.shape()[static_cast<int>(dim)].bounded()) {
    value_ = rows_between(c_, value_, static_cast<int>(dim), range);
    return;
  }
  if (dim != 0) bring_to_front(dim);
  value_ = rows_between(c_, value_, 0, range);
}

void Slices::bring_to_front(std::int64_t dim) {
  if (value_.shape().bounded()) Context::fail("the data decide two of its sizes");
  value_ = to_front(value_, static_cast<int>(dim));
  for (std::int64_t& place : order_) place = place == dim ? 0 : place < dim ? place + 1 : place;
}

std::optional<Ints> all_known(const std::vector<Number>& sizes) {
  Ints known;
  for (const Number& size : sizes) {
    if (!size.known()) return std::nullopt;
    known.push_back(size.number());
  }
  return known;
}

Out expanded(Context& c, const Value& x, std::vector<Number> sizes) {
  const auto rank = static_cast<int>(sizes.size());
  const auto of_step = [](const Number& size) { return size.of_step(); };
  const auto open = std::find_if(sizes.begin(), sizes.end(), of_step);
  const auto axis = static_cast<int>(open == sizes.end() ? 0 : open - sizes.begin());
  if (std::count_if(sizes.begin(), sizes.end(), of_step) > 1 || (axis > 0 && x.shape().bounded()))
    Context::fail("the data decide two of its sizes");
  Ints added(static_cast<std::size_t>(std::max(rank - x.rank(), 0)));
  std::iota(added.begin(), added.end(), 0);
  if (!added.empty() && x.shape().bounded())
    Context::fail("it puts dims before a dim with a size that the data decide");
  Value y = to_front(expand_dims(x, added), axis);
  if (axis > 0) std::rotate(sizes.begin(), sizes.begin() + axis, sizes.begin() + axis + 1);
  if (open != sizes.end()) y = with_rows(c, y, sizes[0]);
  return first_to(with_sizes(c, y, sizes), axis);
}

Value reshaped(Context& c, const Value& x, std::vector<Number> sizes) {
  const auto minus_one = [](const Number& size) { return size.is(-1); };
  const auto open = std::find_if(sizes.begin(), sizes.end(), minus_one);
  if (open != sizes.end()) {
    Elements from, given;
    for (int d = 0; d < x.rank(); ++d) from.add(size_along(x, d));
    for (const Number& size : sizes)
      if (!size.is(-1)) given.add(size);
    if (const auto left = size_left(from, given)) *open = *left;
  }
  Ints to;
  for (const Number& size : sizes) to.push_back(size.known() ? size.number() : -1);
  if (std::count(to.begin(), to.end(), -1) <= 1) return reshape(x, to);
  if (std::any_of(sizes.begin(), sizes.end(), minus_one))
    Context::fail("the size that is -1 cannot be told from " + x.shape().str());
  const Value bit = reshape(c.graph().constant(Tensor(DType::boolean, Ints{})), Ints(sizes.size(), 1));
  return reshape_as(x, with_sizes(c, bit, sizes));
}

Value rows_reshaped(Context& c, const Value& x, const std::vector<Number>& sizes) {
  if (sizes.empty()) Context::fail("the data decide how many elements it has, and it becomes a scalar");
  const Number& rows = sizes[0];
  if (rows.known() && rows.number() > 0) Context::fail("the data decide how many rows it has");
  Ints to{-1};
  std::int64_t others = 1, row = 1;
  int open = -1;
  for (std::size_t d = 1; d < sizes.size(); ++d) {
    if (!sizes[d].known()) Context::fail("two of its sizes are known only when it runs");
    const std::int64_t size = sizes[d].number();
    if (size == -1) open = static_cast<int>(d);
    if (size != -1) others = checked_count(Ints{others, size});
    to.push_back(size);
  }
  for (int d = 1; d < x.rank(); ++d) row = checked_count(Ints{row, x.shape()[d].size()});
  if (open >= 0) {
    if (rows.is(-1)) Context::fail("two of its sizes are -1");
    if (others == 0 || row % others != 0) Context::fail("its rows do not fit the shape");
    to[open] = row / others;
  }
  const Value y = reshape(x, to);
  if (rows.is(0) && y.shape()[0] != x.shape()[0]) Context::fail("its rows do not fit the shape");
  if (rows.known()) return y;
  if (rows.range.most != y.shape()[0].size())
    Context::fail("its first size may be up to " + std::to_string(rows.range.most) + ", and there are at most " +
                  std::to_string(y.shape()[0].size()) + " rows");
  return with_rows(c, y, rows);
}

}  // namespace ferry::onnx
