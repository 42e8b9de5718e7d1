// Converters of ops that make, rearrange, join and cut arrays.
#include "ops/array/array.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/onnx/sizes/rows.hpp"

namespace ferry::onnx {
namespace {

/// The maximum number of elements of a range, and of padding on one side.
constexpr std::int64_t kMostPositions = 1 << 28;

// ---- Values that are known while importing ----

/// The sizes of dims [first, last) of input 0, if some of them are known only when a plan is made or a step runs.
Outs shape_when_run(Context& c, const Shape& shape, std::int64_t first, std::int64_t last) {
  const Out given = c.out(0);
  Values sizes;
  for (std::int64_t d = first; d < last; ++d) {
    if (const Dim& dim = shape[static_cast<int>(d)]; dim.fixed()) {
      sizes.push_back(c.graph().constant(Tensor::of<std::int64_t>({1}, {c.size(0, d)})));
      continue;
    }
    const std::int64_t dim = given.perm.empty() ? d : given.perm[d];
    sizes.push_back(expand_dims(size_of(given.value, {dim}, DType::int64), {0}));
  }
  return concat(sizes, 0);
}

Outs to_shape(Context& c) {
  const std::int64_t rank = c.rank(0);
  const auto bound = [&](std::int64_t given) {
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t first = bound(c.integer("start", 0));
  const std::int64_t last = bound(c.integer("end", rank));
  const Shape shape = c.type(0).shape;
  for (std::int64_t d = first; d < last; ++d)
    if (const Dim& dim = shape[static_cast<int>(d)]; !dim.fixed()) return shape_when_run(c, shape, first, last);
  Ints sizes;
  for (std::int64_t d = first; d < last; ++d) sizes.push_back(c.size(0, d));
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, std::span<const std::int64_t>(sizes));
}

Outs to_size(Context& c) {
  const Out x = c.out(0);
  if (c.type(0).shape.bounded()) return size_of(x.value, {}, DType::int64);
  return Tensor::scalar<std::int64_t>(checked_count(c.sizes(0)));
}

Tensor floats(const Floats& values, std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  std::transform(values.begin(), values.end(), tensor.mutable_data<float>().begin(),
                 [](double value) { return static_cast<float>(value); });
  return tensor;
}

Outs to_constant(Context& c) {
  for (const std::string_view name : {"value", "sparse_value"})
    if (c.has_attr(name)) return c.tensor(name);
  if (c.has_attr("value_int")) return Tensor::scalar<std::int64_t>(c.integer("value_int"));
  if (c.has_attr("value_float")) return floats({c.real("value_float")}, {});
  if (c.has_attr("value_floats")) {
    const Floats values = c.reals("value_floats");
    return floats(values, {static_cast<std::int64_t>(values.size())});
  }
  if (!c.has_attr("value_ints")) Context::fail("it has no value that ferry knows");
  const Ints values = c.integers("value_ints");
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, std::span<const std::int64_t>(values));
}

Outs to_constant_of_shape(Context& c) {
  const std::vector<Number> sizes = c.numbers(0);
  const Tensor value = c.has_attr("value") ? c.tensor("value") : Tensor::scalar<float>(0);
  if (value.count() != 1) Context::fail("its value is " + value.type().str() + ", and should be one element");
  const Value element = reshape(c.graph().constant(value), {});
  if (const auto known = all_known(sizes)) return broadcast_to(element, *known);
  return expanded(c, element, sizes);
}

/// The integers from, from + step, … before `to`. They may be any 64-bit integers; `step` must not be 0.
Tensor range_of_integers(DType dtype, std::int64_t from, std::int64_t to, std::int64_t step) {
  const auto low = static_cast<std::uint64_t>(step > 0 ? from : to),
             high = static_cast<std::uint64_t>(step > 0 ? to : from);
  const std::uint64_t each = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const bool empty = step > 0 ? from >= to : from <= to;
  const std::uint64_t steps = empty ? 0 : (high - low - 1) / each + 1;
  if (steps > static_cast<std::uint64_t>(kMostPositions))
    Context::fail("a range of " + std::to_string(steps) + " elements");
  Tensor range(dtype, {static_cast<std::int64_t>(steps)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto out = range.mutable_data<T>();
    if constexpr (std::is_integral_v<T>)
      for (std::uint64_t i = 0; i < steps; ++i)
        out[i] = static_cast<T>(static_cast<std::uint64_t>(from) + i * static_cast<std::uint64_t>(step));
  });
  return range;
}

Tensor known_range(DType dtype, double from, double to, double step) {
  const double steps = std::ceil((to - from) / step);
  if (!(steps <= static_cast<double>(kMostPositions)))
    Context::fail("a range of " + digits_text(steps, 6) + " elements");
  const auto count = static_cast<std::int64_t>(std::max(steps, 0.0));
  Tensor range(dtype, {count});
  dispatch(range.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto out = range.mutable_data<T>();
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(from + static_cast<double>(i) * step);
  });
  return range;
}

/// A range of integers with a first or last number that depends on data.
Outs range_when_run(Context& c, const Number& from, const Number& to, std::int64_t step) {
  Graph& graph = c.graph();
  const Number ahead = step > 0 ? difference_of(graph, to, from) : difference_of(graph, from, to);
  const Number count = steps_of(graph, larger_of(graph, ahead, 0), std::abs(step));
  Value range = numbers_below(c, count);
  if (step != 1) range = range * scalar_of(graph, step);
  if (!from.is(0)) range = range + scalar_of(graph, from);
  return cast(range, c.type(0).dtype);
}

Outs to_range(Context& c) {
  c.no_effect({"stash_type"});  // floats are always computed in float64
  const DType dtype = c.type(0).dtype;
  if (!is_float(dtype)) {
    if (c.whole_number(2) == 0) Context::fail("a step of 0");
    const Number from = c.number_of(0), to = c.number_of(1);
    if (!from.known() || !to.known()) return range_when_run(c, from, to, c.whole_number(2));
    return range_of_integers(dtype, c.whole_number(0), c.whole_number(1), c.whole_number(2));
  }
  const double step = c.number(2);
  if (step == 0) Context::fail("a step of 0");
  return known_range(dtype, c.number(0), c.number(1), step);
}

// ---- Sizes ----

/// Reshape of x to sizes. The sizes at `copied` are the input's dims, which are symbolic.
Outs with_copied_dims(Context& c, const Ints& sizes, const std::vector<std::size_t>& copied) {
  const Value x = c.in(0);
  std::vector<Number> numbers(sizes.begin(), sizes.end());
  for (const std::size_t i : copied) {
    numbers[i] = size_along(x, static_cast<int>(i));
    if (numbers[i].of_step()) static_cast<void>(c.size(0, static_cast<std::int64_t>(i)));  // reports the size
  }
  return reshaped(c, x, std::move(numbers));
}

/// Reshape to known sizes. A size of 0 means the input's dim, which may be symbolic.
Outs to_known_shape(Context& c, Ints sizes, bool zeros_stay) {
  const Shape from = c.type(0).shape;
  if (zeros_stay) return reshape(c.in(0), sizes);
  std::vector<std::size_t> symbolic;
  std::int64_t others = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      if (static_cast<int>(i) >= from.rank())
        Context::fail("size " + std::to_string(i) + " is 0, and its input has no such dim");
      const Dim& dim = from[static_cast<int>(i)];
      if (dim.known())
        sizes[i] = dim.size();
      else
        symbolic.push_back(i);
    }
    if (sizes[i] > 0) others = checked_count(Ints{others, sizes[i]});
  }
  const auto known = [](const Dim& dim) { return dim.known(); };
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (symbolic.size() > 1 || (symbolic.size() == 1 && open != sizes.end() &&
                              std::count_if(from.dims().begin(), from.dims().end(), known) + 1 < from.rank()))
    return with_copied_dims(c, sizes, symbolic);
  if (symbolic.size() == 1) {
    if (open != sizes.end()) {
      std::int64_t rest = 1;
      for (int d = 0; d < from.rank(); ++d)
        if (d != static_cast<int>(symbolic[0])) rest *= c.size(0, d);
      if (others == 0 || rest % others != 0) Context::fail("its elements do not fit the shape");
      *open = rest / others;
    }
    sizes[symbolic[0]] = -1;
  }
  return reshape(c.in(0), sizes);
}

/// Reshape of a value with a number of rows that depends on data. Dims of size 1 may precede the dim of the rows.
Outs to_rows(Context& c, std::vector<Number> sizes) {
  const Shape from = c.type(0).shape;
  Ints added;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].is(0) && static_cast<int>(d) < from.rank())
      if (const Dim& dim = from[static_cast<int>(d)]; !dim.bounded()) sizes[d] = dim.size();
    if (sizes[d].is(1) && added.size() == d) added.push_back(static_cast<std::int64_t>(d));
  }
  sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(added.size()));
  return unsqueezed(rows_reshaped(c, in_row_order(c.out(0)), sizes), added);
}

Outs to_reshape(Context& c) {
  const bool zeros_stay = c.integer("allowzero", 0) != 0;
  std::vector<Number> sizes;
  if (c.has(1))
    sizes = c.numbers(1);
  else
    for (const std::int64_t size : c.integers("shape")) sizes.emplace_back(size);
  if (c.type(0).shape.bounded()) return to_rows(c, sizes);
  if (const auto known = all_known(sizes)) return to_known_shape(c, *known, zeros_stay);
  const auto left_open = [](const Number& size) { return !size.known() || size.is(-1); };
  const auto of_step = [](const Number& size) { return size.of_step(); };
  if (std::count_if(sizes.begin(), sizes.end(), left_open) > 1 && std::any_of(sizes.begin(), sizes.end(), of_step))
    return to_known_shape(c, c.ints(1), zeros_stay);  // ints() reports the missing part
  const Value x = c.in(0);
  for (std::size_t d = 0; d < sizes.size() && !zeros_stay; ++d)
    if (sizes[d].is(0) && static_cast<int>(d) < x.rank()) sizes[d] = size_along(x, static_cast<int>(d));
  return reshaped(c, x, sizes);
}

/// The product of the dims [begin, end); -1 if one of them is not known.
std::int64_t product(const Shape& shape, int begin, int end) {
  Ints sizes;
  for (int d = begin; d < end; ++d) {
    if (!shape[d].fixed()) return -1;
    sizes.push_back(shape[d].size());
  }
  return checked_count(sizes);
}

/// Flatten of an input with symbolic dims before `axis` and after it.
Outs flattened(Context& c, int axis) {
  const Value x = c.in(0);
  std::vector<Number> sizes{1, 1};
  for (int d = 0; d < x.rank(); ++d) {
    const Number size = size_along(x, d);
    if (size.of_step()) static_cast<void>(c.size(0, d));  // reports the size
    Number& all = sizes[d < axis ? 0 : 1];
    all = product_of(x.graph(), all, size);
  }
  return reshaped(c, x, std::move(sizes));
}

Outs to_flatten(Context& c) {
  const Shape shape = c.type(0).shape;
  const std::int64_t given = c.integer("axis", 1);
  const int axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  if (axis < 0 || axis > shape.rank()) Context::fail("axis " + std::to_string(given) + " is out of range");
  const Ints sizes{product(shape, 0, axis), product(shape, axis, shape.rank())};
  return sizes[0] < 0 && sizes[1] < 0 ? flattened(c, axis) : reshape(c.in(0), sizes);
}

/// Squeeze of a value with its dims in another order (Out::perm). `goes` marks the dims of the model's value to remove.
Outs arranged_squeeze(const Out& x, const std::vector<bool>& goes) {
  Ints gone, left;
  for (std::size_t d = 0; d < goes.size(); ++d) (goes[d] ? gone : left).push_back(x.perm[d]);
  for (std::int64_t& dim : left)
    dim -= std::count_if(gone.begin(), gone.end(), [&](std::int64_t other) { return other < dim; });
  return arranged(squeeze(x.value, gone), left);
}

Outs to_squeeze(Context& c) {
  const auto given = c.ints_of(1, "axes");
  const Shape shape = c.type(0).shape;
  Ints axes = given.value_or(Ints());
  for (int d = 0; d < shape.rank() && !given; ++d)
    if (shape[d] == Dim(1)) axes.push_back(d);
  const Out x = c.out(0);
  if (!x.perm.empty() && !axes.empty()) {
    std::vector<bool> goes(x.perm.size());
    for (const std::int64_t axis : axes) goes[c.axis(0, axis)] = true;
    return arranged_squeeze(x, goes);
  }
  return axes.empty() ? identity(c.in(0)) : squeeze(c.in(0), axes);
}

Outs to_unsqueeze(Context& c) {
  const auto given = c.ints_of(1, "axes");
  if (!given) Context::fail("it has no axes");
  if (given->empty()) return identity(c.in(0));
  if (!c.type(0).shape.bounded()) return expand_dims(c.in(0), *given);
  Ints axes = *given;
  const std::int64_t rank = c.rank(0) + static_cast<std::int64_t>(axes.size());
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) Context::fail("axis " + std::to_string(axis) + " is out of range");
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) Context::fail("an axis is given twice");
  return unsqueezed(c.out(0), axes);
}

/// Expand broadcasts in both directions: the input's dim stays if the shape has a 1 in its place, or lacks it.
Outs to_expand(Context& c) {
  std::vector<Number> to = c.numbers(1);
  const auto rank = static_cast<std::size_t>(c.rank(0));
  if (to.size() < rank) to.insert(to.begin(), rank - to.size(), 1);
  const auto known = all_known(to);
  if (const Shape shape = c.type(0).shape; !known || !shape.fixed()) return expanded(c, c.in(0), to);
  Ints sizes = *known;
  for (std::size_t d = 0; d < rank; ++d)
    if (std::int64_t& size = sizes[to.size() - rank + d]; size == 1) size = c.size(0, static_cast<std::int64_t>(d));
  return broadcast_to(c.in(0), sizes);
}

Outs to_tile(Context& c) {
  return tile(c.in(0), c.ints(1));
}

// ---- Order and parts ----

Outs to_transpose(Context& c) {
  Ints perm = c.integers("perm");
  const Out x = c.out(0);
  if (x.perm.empty()) return transpose(c.in(0), perm);
  for (int d = c.rank(0); d-- > 0 && !c.has_attr("perm");) perm.push_back(d);
  Ints order, seen;
  for (const std::int64_t dim : perm) order.push_back(x.perm[c.axis(0, dim)]);
  seen = order;
  std::sort(seen.begin(), seen.end());
  if (seen.size() != x.perm.size() || std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    Context::fail("its perm does not have each dim once");
  return arranged(x.value, order);
}

Outs to_concat(Context& c) {
  return concat(c.all(), c.integer("axis", 1));
}

Outs to_split(Context& c) {
  const std::int64_t axis = c.axis(0, c.integer("axis", 0));
  if (const auto sizes = c.ints_of(1, "split")) return split(c.in(0), axis, *sizes);
  const std::int64_t parts = c.integer("num_outputs", c.outputs());
  if (parts < 1 || parts != c.outputs())
    Context::fail("it is cut into " + std::to_string(parts) + " parts, and has " + std::to_string(c.outputs()) +
                  " outputs");
  const std::int64_t size = c.size(0, axis);
  const std::int64_t each = (size + parts - 1) / parts;
  Ints sizes;
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
  return split(c.in(0), axis, sizes);
}

Outs to_slice(Context& c) {
  const bool inputs = c.opset() >= 10;
  const auto numbers = [&](int i, std::string_view name) {
    if (inputs) return c.numbers(i);
    const Ints given = c.integers(name);
    return std::vector<Number>(given.begin(), given.end());
  };
  const std::vector<Number> begin = numbers(1, "starts"), end = numbers(2, "ends");
  Ints axes = inputs ? (c.has(3) ? c.ints(3) : Ints()) : c.integers("axes");
  Ints step = inputs && c.has(4) ? c.ints(4) : Ints(begin.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (end.size() != begin.size() || axes.size() != begin.size() || step.size() != begin.size())
    Context::fail("its starts, ends, axes and steps are not as many as one another");
  if (begin.empty()) return identity(c.in(0));
  Slices slices(c, c.type(0).shape.bounded() ? c.out(0) : Out(c.in(0)));
  for (std::size_t i = 0; i < begin.size(); ++i) slices.take(axes[i], {begin[i], end[i], step[i]});
  return slices.result();
}

std::optional<PadMode> pad_mode(const std::string& name) {
  if (name == "constant") return std::nullopt;
  if (name == "reflect") return PadMode::reflect;
  if (name == "edge") return PadMode::edge;
  if (name == "wrap") return PadMode::wrap;
  Context::fail("its mode is " + name);
}

/// Removes elements for negative pads, and sets these pads to 0.
Value apply_negative_pads(Value x, Ints& low, Ints& high) {
  for (std::size_t d = 0; d < low.size(); ++d) {
    if (low[d] < 0 || high[d] < 0)
      x = slice(x, static_cast<std::int64_t>(d), -std::clamp<std::int64_t>(low[d], -kEnd, 0),
                high[d] < 0 ? high[d] : kEnd);
    low[d] = std::max<std::int64_t>(low[d], 0);
    high[d] = std::max<std::int64_t>(high[d], 0);
  }
  return x;
}

Outs to_pad(Context& c) {
  const std::optional<PadMode> mode = pad_mode(c.text("mode", "constant"));
  const auto given = c.ints_of(1, c.opset() == 1 ? "paddings" : "pads");
  Ints axes = c.has(3) ? c.ints(3) : Ints();
  const auto rank = static_cast<std::size_t>(c.rank(0));
  if (!c.has(3))
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  if (!given || given->size() != 2 * axes.size()) Context::fail("it has not two pads for each axis");
  for (const std::int64_t pad : *given)
    if (std::abs(static_cast<double>(pad)) > static_cast<double>(kMostPositions))
      Context::fail("a pad of " + std::to_string(pad) + " elements");
  Ints low(rank), high(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(c.axis(0, axes[i]));
    low[d] = (*given)[i];
    high[d] = (*given)[i + axes.size()];
  }
  if (mode) {
    for (std::size_t d = 0; d < rank; ++d)
      if (low[d] > 0 || high[d] > 0) static_cast<void>(c.size(0, static_cast<std::int64_t>(d)));
    return identity(pad(c.in(0), low, high, *mode));
  }
  const DType dtype = c.type(0).dtype;
  const Literal value = !c.has(2)                                     ? Literal(c.real("value", 0))
                        : is_integer(dtype) && dtype != DType::uint64 ? Literal(c.whole_number(2))
                                                                      : Literal(c.number(2));
  const Value x = apply_negative_pads(c.in(0), low, high);  // apply_negative_pads() sets negative pads to 0
  return pad(x, low, high, value);
}

/// Whether the mode is CRD (the position in a block follows the channel) and not DCR (the position precedes the
/// channel).
bool channels_first(Context& c) {
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") Context::fail("a mode of '" + mode + "'");
  return mode == "CRD";
}

Outs to_depth_to_space(Context& c) {
  return depth_to_space(c.in(0), c.integer("blocksize"), channels_first(c));
}

Outs to_space_to_depth(Context& c) {
  return space_to_depth(c.in(0), c.integer("blocksize"), channels_first(c));
}

Outs to_trilu(Context& c) {
  const std::int64_t k = c.has(1) ? c.whole_number(1) : 0;
  return c.integer("upper", 1) != 0 ? triu(c.in(0), k) : tril(c.in(0), k);
}

Outs to_reverse_sequence(Context& c) {
  const Value x = c.in(0);
  const Value lengths = c.in(1);
  const std::int64_t time = c.integer("time_axis", 0);
  if (c.integer("batch_axis", 1) != 1 - time) Context::fail("its time and batch axes are not the first two dims");
  return reverse_sequence(x, lengths, time);
}

Outs to_eye_like(Context& c) {
  const Ints sizes = c.sizes(0);
  if (sizes.size() != 2) Context::fail("its input is no matrix");
  const std::int64_t k = std::clamp(c.integer("k", 0), -sizes[0], sizes[1]);
  Tensor eye(c.dtype("dtype", c.type(0).dtype), sizes);
  dispatch(eye.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto out = eye.mutable_data<T>();
    for (std::int64_t row = std::max<std::int64_t>(-k, 0); row < std::min(sizes[0], sizes[1] - k); ++row)
      out[row * sizes[1] + row + k] = T(1);
  });
  return eye;
}

Outs to_identity(Context& c) {
  const Out x = c.out(0);
  return x.perm.empty() ? Outs(identity(c.in(0))) : Outs(x);
}

constexpr ConvertOp kArray[] = {
    {"Concat", 1, to_concat},
    {"Constant", 1, to_constant},
    {"ConstantOfShape", 9, to_constant_of_shape},
    {"DepthToSpace", 1, to_depth_to_space},
    {"Expand", 8, to_expand},
    {"EyeLike", 9, to_eye_like},
    {"Flatten", 1, to_flatten},
    {"Identity", 1, to_identity},
    {"Pad", 1, to_pad},
    {"Range", 11, to_range},
    {"Reshape", 1, to_reshape},
    {"ReverseSequence", 10, to_reverse_sequence},
    {"Shape", 1, to_shape},
    {"Size", 1, to_size},
    {"Slice", 1, to_slice},
    {"SpaceToDepth", 1, to_space_to_depth},
    {"Split", 1, to_split},
    {"Squeeze", 1, to_squeeze},
    {"Tile", 6, to_tile},
    {"Transpose", 1, to_transpose},
    {"Trilu", 14, to_trilu},
    {"Unsqueeze", 1, to_unsqueeze},
};

}  // namespace

std::span<const ConvertOp> array_converters() {
  return kArray;
}

}  // namespace ferry::onnx
