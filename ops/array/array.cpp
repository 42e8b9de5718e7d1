#include "ops/array/array.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "graph/op/op_work.hpp"
#include "graph/types/halo.hpp"
#include "ops/array/indexing.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// The attribute `axis` as a dim of input i.
int axis_of(const OpFacts& facts, int i = 0) {
  return facts.axis(i, facts.attr<std::int64_t>("axis"));
}

void check_not_bounded(const OpFacts& facts, int i, int dim) {
  if (facts.shape(i)[dim].bounded())
    OpFacts::fail("dim " + std::to_string(dim) + " of input " + std::to_string(i) + " " + facts.shape(i).str() +
                  " is bounded");
}

// ---- Transpose ----

/// Returns index notation such as "abc->cab" for perm {2,0,1}.
std::string transpose_index(const OpFacts& facts) {
  const Ints& perm = facts.attr<Ints>("perm");
  const int rank = facts.shape(0).rank();
  const std::string in = Letters().next(rank);
  std::string out;
  std::vector<bool> seen(static_cast<std::size_t>(rank));
  for (std::int64_t given : perm) {
    const int dim = facts.axis(0, given);
    if (seen[dim]) OpFacts::fail("dim " + std::to_string(dim) + " comes twice in perm");
    seen[dim] = true;
    out += in[dim];
  }
  if (static_cast<int>(perm.size()) != rank)
    OpFacts::fail("perm has " + std::to_string(perm.size()) + " dims, the input " + std::to_string(rank));
  if (facts.shape(0).bounded() && facts.axis(0, perm[0]) != 0)
    OpFacts::fail("the first dim of " + facts.shape(0).str() + " is bounded and must stay");
  return term(in) + "->" + term(out);
}

/// Replaces negative dims in `perm`, which count from the end.
Ints from_front(Ints perm) {
  for (std::int64_t& dim : perm)
    if (dim < 0) dim += static_cast<std::int64_t>(perm.size());
  return perm;
}

Ints inverse(const Ints& perm) {
  const Ints dims = from_front(perm);
  Ints result(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) result[dims[i]] = static_cast<std::int64_t>(i);
  return result;
}

int same_as_transpose(const OpFacts& facts) {
  const Ints perm = from_front(facts.attr<Ints>("perm"));
  return std::ranges::is_sorted(perm) ? 0 : -1;
}

bool undoes_transpose(const Attrs& own, const Attrs& before) {
  return from_front(own.get<Ints>("perm")) == inverse(before.get<Ints>("perm"));
}

// ---- Concat and Split ----

/// Returns index notation such as "a[x]b,a[y]b->a[z]b". Along the axis, each input and the output have their own
/// letters.
std::string concat_index(const OpFacts& facts) {
  const int axis = axis_of(facts);
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string after = letters.next(facts.shape(0).rank() - axis - 1);
  std::string text;
  for (int i = 0; i < facts.inputs(); ++i) text += (i == 0 ? "" : ",") + before + whole(letters.next()) + after;
  return text + "->" + before + whole(letters.next()) + after;
}

std::vector<Shape> concat_shape(const OpFacts& facts) {
  if (facts.inputs() == 0) OpFacts::fail("takes at least one input");
  const int axis = axis_of(facts);
  Shape shape = facts.shape(0);
  Dim total(std::int64_t{0});
  bool bounded = false;
  for (int i = 0; i < facts.inputs(); ++i) {
    const Shape& part = facts.shape(i);
    if (part.rank() != shape.rank())
      OpFacts::fail("input " + std::to_string(i) + " has rank " + std::to_string(part.rank()) + ", the first has " +
                    std::to_string(shape.rank()));
    bounded |= part[axis].bounded();
    for (int d = 0; d < shape.rank(); ++d) {
      if (d == axis) continue;
      if (!shape[d].known()) shape[d] = part[d];
      if (part[d].known() && part[d] != shape[d])
        OpFacts::fail("dim " + std::to_string(d) + " of input " + std::to_string(i) + " is " + part[d].str() +
                      ", of others " + shape[d].str());
    }
    std::int64_t sum = 0;
    if (!total.known() || !part[axis].known()) {
      total = Dim::unknown();
    } else if (__builtin_add_overflow(total.size(), part[axis].size(), &sum)) {
      OpFacts::fail("the sizes along the axis overflow 64 bits");
    } else {
      total = sum;
    }
  }
  if (bounded && total.known()) total = Dim::at_most(total.size());
  shape[axis] = facts.inputs() == 1 ? facts.shape(0)[axis] : total;
  return {shape};
}

/// The row numbers 0, 1, 2 … of x. If x is bounded, `count` is its number of rows.
Value row_numbers(Graph& graph, const Value& x, const Value& count) {
  const Dim& rows = x.shape()[0];
  if (rows.bounded()) return arange(count, rows.size());
  if (!rows.known())
    throw Error(Code::plan, "gradients: Concat: of a bounded input and one of a size that is not known");
  Tensor numbers(DType::int64, {rows.size()});
  const auto data = numbers.mutable_data<std::int64_t>();
  std::iota(data.begin(), data.end(), 0);
  return graph.constant(numbers);
}

/// The gradients of a Concat of bounded values along dim 0. The gradient of an input is a range of rows of the result's
/// gradient. It is gathered by row numbers, because the extents are known only in the step.
Values rows_of_concat(GradCtx& g) {
  Values result;
  Value begin;
  for (int i = 0; i < g.inputs(); ++i) {
    const Value count = size_of(g.like(i), {0}, DType::int64);
    result.push_back(g.want(i, [&] {
      const Value rows = row_numbers(g.dout().graph(), g.like(i), count);
      return gather(g.dout(), begin.defined() ? rows + begin : rows, 0);
    }));
    begin = begin.defined() ? begin + count : count;
  }
  return result;
}

// The gradient of an input is a slice of the result's gradient. The position of the slice is counted from the front
// while the sizes before it are known, otherwise from the end. So one input may have an unknown size.
Values concat_grad(GradCtx& g) {
  const std::int64_t axis = g.attrs().get<std::int64_t>("axis");
  const int dim = static_cast<int>(axis < 0 ? axis + g.out().rank() : axis);
  if (g.out().shape()[dim].bounded()) return rows_of_concat(g);
  int open = -1;
  std::int64_t behind = 0;
  for (int i = 0; i < g.inputs(); ++i) {
    const Dim& size = g.in(i).shape()[dim];
    if (size.known()) {
      behind += open < 0 ? 0 : size.size();
    } else if (open >= 0) {
      throw Error(Code::plan, "gradients: " + g.op().str() + ": of the sizes along axis " + std::to_string(axis) +
                                  " two are not known");
    } else {
      open = i;
    }
  }
  Values result;
  std::int64_t begin = 0;
  for (int i = 0; i < g.inputs(); ++i) {
    const std::int64_t from = begin;
    begin = i == open ? -behind : begin + g.in(i).shape()[dim].size();
    const std::int64_t to = begin == 0 && (i == open || from < 0) ? kEnd : begin;
    result.push_back(g.want(i, [&] { return slice(g.dout(), dim, from, to); }));
  }
  return result;
}

std::string split_index(const OpFacts& facts) {
  const int axis = axis_of(facts);
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string after = letters.next(facts.shape(0).rank() - axis - 1);
  std::string text = before + whole(letters.next()) + after + "->";
  for (std::size_t i = 0; i < facts.attr<Ints>("sizes").size(); ++i)
    text += (i == 0 ? "" : ",") + before + whole(letters.next()) + after;
  return text;
}

std::vector<Shape> split_shape(const OpFacts& facts) {
  const int axis = axis_of(facts);
  check_not_bounded(facts, 0, axis);
  const Ints& sizes = facts.attr<Ints>("sizes");
  if (sizes.empty()) OpFacts::fail("no sizes are given");
  std::vector<Shape> shapes;
  std::int64_t total = 0;
  for (std::int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(total, size, &total)) OpFacts::fail("a size of " + std::to_string(size));
    shapes.push_back(facts.shape(0));
    shapes.back()[axis] = size;
  }
  const Dim& whole_size = facts.shape(0)[axis];
  if (whole_size.known() && whole_size.size() != total)
    OpFacts::fail("the sizes add up to " + std::to_string(total) + ", dim " + std::to_string(axis) + " is " +
                  whole_size.str());
  return shapes;
}

// ---- Slice ----

/// The elements of one dim that a slice takes; step 0: the slice does not cut this dim.
struct Cut {
  std::int64_t begin = 0, end = kEnd, step = 0;
};

std::vector<Cut> cuts_of(const OpFacts& facts, int i) {
  const Ints& axes = facts.attr<Ints>("axes");
  const Ints& begin = facts.attr<Ints>("begin");
  const Ints& end = facts.attr<Ints>("end");
  const Ints& step = facts.attr<Ints>("step");
  if (begin.size() != axes.size() || end.size() != axes.size() || step.size() != axes.size())
    OpFacts::fail("axes, begin, end and step have different lengths");
  std::vector<Cut> cuts(static_cast<std::size_t>(facts.shape(i).rank()));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int dim = facts.axis(i, axes[k]);
    Cut& cut = cuts[dim];
    if (cut.step != 0) OpFacts::fail("axis " + std::to_string(axes[k]) + " is given twice");
    if (step[k] < 1) OpFacts::fail("a step of " + std::to_string(step[k]));
    check_not_bounded(facts, i, dim);
    cut = {begin[k], end[k], step[k]};
  }
  return cuts;
}

/// The shape of input i after the cuts.
Shape sliced(const OpFacts& facts, int i) {
  const std::vector<Cut> cuts = cuts_of(facts, i);
  Shape shape = facts.shape(i);
  for (int d = 0; d < shape.rank(); ++d) {
    const Cut& cut = cuts[d];
    if (cut.step == 0 || (cut.begin == 0 && cut.end == kEnd && cut.step == 1)) continue;
    shape[d] =
        shape[d].known() ? Dim(slice_range(shape[d].size(), cut.begin, cut.end, cut.step).count) : Dim::unknown();
  }
  return shape;
}

std::vector<Shape> slice_shape(const OpFacts& facts) {
  return {sliced(facts, 0)};
}

std::vector<Shape> unslice_shape(const OpFacts& facts) {
  const Shape &part = facts.shape(0), &whole = facts.shape(1), wanted = sliced(facts, 1);
  const auto fits = [&](int d) { return !part[d].known() || !wanted[d].known() || part[d] == wanted[d]; };
  bool all = part.rank() == wanted.rank();
  for (int d = 0; all && d < part.rank(); ++d) all = fits(d);
  if (!all) OpFacts::fail("input 0 is " + part.str() + ", the slice of " + whole.str() + " is " + wanted.str());
  return {whole};
}

/// Returns the terms of the slice and of the whole value, such as "a[x]" and "a[y]" if dim 1 is cut.
std::pair<std::string, std::string> slice_terms(const std::vector<Cut>& cuts) {
  Letters letters;
  std::string part, all;
  for (const Cut& cut : cuts) {
    const std::string letter = letters.next();
    all += cut.step == 0 ? letter : whole(letter);
    part += cut.step == 0 ? letter : whole(letters.next());
  }
  return {term(part), term(all)};
}

std::string slice_index(const OpFacts& facts) {
  const auto [part, all] = slice_terms(cuts_of(facts, 0));
  return all + "->" + part;
}

std::string unslice_index(const OpFacts& facts) {
  const auto [part, all] = slice_terms(cuts_of(facts, 1));
  return part + "," + all + "->" + all;
}

/// The window of input i that the cuts read.
WindowOf cut_window(const OpFacts& facts, int i) {
  const std::vector<Cut> cuts = cuts_of(facts, i);
  WindowOf window;
  for (int d = 0; d < facts.shape(i).rank(); ++d) {
    const Cut& cut = cuts[d];
    const std::int64_t size = facts.shape(i)[d].size();
    const SliceRange range = cut.step == 0 ? SliceRange{0, size} : slice_range(size, cut.begin, cut.end, cut.step);
    window.dims.push_back({range.first, std::max<std::int64_t>(cut.step, 1), range.count});
  }
  return window;
}

std::optional<WindowOf> slice_window(const OpFacts& facts) {
  return cut_window(facts, 0);
}

/// The window of the slice. There is none if a step is above 1, because there are zeros between the elements.
std::optional<WindowOf> unslice_window(const OpFacts& facts) {
  WindowOf window = cut_window(facts, 1);
  for (std::size_t d = 0; d < window.dims.size(); ++d) {
    Reads& reads = window.dims[d];
    if (reads.step > 1) return std::nullopt;
    reads = {-reads.begin, 1, facts.shape(1)[static_cast<int>(d)].size()};
  }
  return window;
}

/// For steps above 1: an element of the output reads the element of the slice that was taken from its position, if any.
std::vector<SlidingDim> unslice_slides(const OpFacts& facts) {
  std::vector<SlidingDim> slides;
  if (unslice_window(facts)) return slides;
  const std::vector<Cut> cuts = cuts_of(facts, 1);
  const WindowOf slice = cut_window(facts, 1);
  for (int d = 0; d < facts.shape(1).rank(); ++d) {
    const std::int64_t size = facts.shape(1)[d].size();
    const Reads& taken = slice.dims[d];
    if (cuts[d].step == 0) continue;
    slides.push_back({d, {{0, d, {.size = size, .windows = {taken.begin, taken.step, 1}}}}});
  }
  return slides;
}

Value unslice(const Value& y, const Value& like, const Attrs& attrs);

// ---- Pad ----

std::vector<Shape> pad_shape(const OpFacts& facts) {
  Shape shape = facts.shape(0);
  const Ints& low = facts.attr<Ints>("low");
  const Ints& high = facts.attr<Ints>("high");
  if (static_cast<int>(low.size()) != shape.rank() || static_cast<int>(high.size()) != shape.rank())
    OpFacts::fail("low and high need one size for each of " + std::to_string(shape.rank()) + " dims");
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t before = low[d];
    const std::int64_t behind = high[d];
    if (before < 0 || behind < 0) OpFacts::fail("a size of " + std::to_string(std::min(before, behind)));
    if (before == 0 && behind == 0) continue;
    check_not_bounded(facts, 0, d);
    std::int64_t size = 0;
    if (__builtin_add_overflow(before, behind, &size) ||
        __builtin_add_overflow(size, std::max<std::int64_t>(shape[d].size(), 0), &size))
      OpFacts::fail("dim " + std::to_string(d) + " overflows 64 bits");
    shape[d] = shape[d].known() ? Dim(size) : Dim::unknown();
  }
  return {shape};
}

/// Returns index notation such as "a[x]->a[y]" if dim 1 is padded.
std::string pad_index(const OpFacts& facts) {
  const Ints& low = facts.attr<Ints>("low");
  const Ints& high = facts.attr<Ints>("high");
  std::vector<Cut> cuts(low.size());
  for (std::size_t d = 0; d < low.size(); ++d) cuts[d].step = low[d] == 0 && high[d] == 0 ? 0 : 1;
  const auto [padded, plain] = slice_terms(cuts);
  return plain + "->" + padded;
}

std::optional<WindowOf> pad_window(const OpFacts& facts) {
  const Ints &low = facts.attr<Ints>("low"), &high = facts.attr<Ints>("high");
  WindowOf window{{}, facts.attr<double>("value")};
  for (std::size_t d = 0; d < low.size(); ++d)
    window.dims.push_back({-low[d], 1, facts.shape(0)[static_cast<int>(d)].size() + low[d] + high[d]});
  return window;
}

Values pad_grad(GradCtx& g) {
  const Ints& low = g.attrs().get<Ints>("low");
  Ints axes, end;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const std::int64_t behind = g.attrs().get<Ints>("high")[d];
    axes.push_back(static_cast<std::int64_t>(d));
    end.push_back(behind == 0 ? kEnd : -behind);
  }
  return {low.empty() ? g.dout() : slice(g.dout(), axes, low, end)};
}

// ---- Definitions ----

constexpr AttrDef kPermAttr[] = {{"perm", "ints"}};
constexpr AttrDef kAxisAttr[] = {{"axis", "int"}};
constexpr AttrDef kSplitAttrs[] = {{"axis", "int"}, {"sizes", "ints"}};
constexpr AttrDef kSliceAttrs[] = {{"axes", "ints"}, {"begin", "ints"}, {"end", "ints"}, {"step", "ints"}};
constexpr AttrDef kPadAttrs[] = {{"high", "ints"}, {"low", "ints"}, {"value", "float"}};

constexpr OpDef kTranspose{
    .name = "Transpose",
    .types = "T->T",
    .T = kAnyType,
    .attrs = kPermAttr,
    .index_of = transpose_index,
    .linear = 0b1,
    .same = same_as_transpose,
    .undoes = undoes_transpose,
    .flops = 0,
    .flags = kMoves,
    .grad = [](GradCtx& g) { return Values{transpose(g.dout(), inverse(g.attrs().get<Ints>("perm")))}; }};

std::size_t concat_dim(const Attrs& attrs, std::size_t rank) {
  const std::int64_t axis = attrs.get<std::int64_t>("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

constexpr OpDef kConcat{.name = "Concat",
                        .types = "T...->T",
                        .T = kAnyType,
                        .attrs = kAxisAttr,
                        .index_of = concat_index,
                        .linear = ~0U,
                        .infer = concat_shape,
                        .joins = concat_dim,
                        .same = [](const OpFacts& facts) { return facts.inputs() == 1 ? 0 : -1; },
                        .flops = 0,
                        .flags = kMoves,
                        .grad = concat_grad};

constexpr OpDef kSplit{.name = "Split",
                       .types = "T->T...",
                       .T = kAnyType,
                       .attrs = kSplitAttrs,
                       .index_of = split_index,
                       .linear = 0b1,
                       .infer = split_shape,
                       .flops = 0,
                       .flags = kMoves,
                       .grad = [](GradCtx& g) {
                         Values parts;
                         for (int i = 0; i < g.outputs(); ++i) parts.push_back(g.dout(i));
                         return Values{concat(parts, g.attrs().get<std::int64_t>("axis"))};
                       }};

constexpr OpDef kSlice{.name = "Slice",
                       .types = "T->T",
                       .T = kAnyType,
                       .attrs = kSliceAttrs,
                       .index_of = slice_index,
                       .linear = 0b1,
                       .infer = slice_shape,
                       .window = slice_window,
                       .same = same_as_input,
                       .flops = 0,
                       .bytes_of = moved_bytes,
                       .flags = kMoves,
                       .grad = [](GradCtx& g) { return Values{unslice(g.dout(), g.in(), g.attrs())}; }};

constexpr OpDef kUnslice{
    .name = "Unslice",
    .types = "T,U->T",
    .U = kAnyType,
    .attrs = kSliceAttrs,
    .index_of = unslice_index,
    .linear = 0b01,
    .unread = 0b10,
    .infer = unslice_shape,
    .window = unslice_window,
    .slides = unslice_slides,
    .flops = 0,
    .grad = [](GradCtx& g) {
      const Attrs& a = g.attrs();
      return Values{slice(g.dout(), a.get<Ints>("axes"), a.get<Ints>("begin"), a.get<Ints>("end"), a.get<Ints>("step")),
                    Value()};
    }};

constexpr OpDef kPad{.name = "Pad",
                     .types = "T->T",
                     .T = kAnyType,
                     .attrs = kPadAttrs,
                     .index_of = pad_index,
                     .infer = pad_shape,
                     .window = pad_window,
                     .same = same_as_input,
                     .flops = 0,
                     .grad = pad_grad};

constexpr const OpDef* kArrayOps[] = {&kTranspose, &kConcat, &kSplit, &kSlice, &kUnslice, &kPad};

Value unslice(const Value& y, const Value& like, const Attrs& attrs) {
  return make_one(kUnslice, {y, like}, y.op().line(), attrs);
}

}  // namespace

Value transpose(const Value& x, Ints perm, source_location at) {
  static_cast<void>(graph_of({{x}}, at));
  if (perm.empty())
    for (int d = x.rank(); d > 0; --d) perm.push_back(d - 1);
  return make_one(kTranspose, {x}, at, {{"perm", std::move(perm)}});
}

Value concat(std::span<const Value> values, std::int64_t axis, source_location at) {
  if (values.empty()) throw Error(Code::plan, "Concat: takes at least one input").at(at).hint("give one or more");
  return make(kConcat, same_dtype({values.begin(), values.end()}, at), {{"axis", axis}}, at)[0];
}

Values split(const Value& x, std::int64_t axis, Ints sizes, source_location at) {
  return make(kSplit, {{x}}, {{"axis", axis}, {"sizes", std::move(sizes)}}, at);
}

Value slice(const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step,
            source_location at) {
  return slice(x, Ints{axis}, Ints{begin}, Ints{end}, Ints{step}, at);
}

Value slice(const Value& x, Ints axes, Ints begin, Ints end, Ints step, source_location at) {
  if (step.empty()) step.assign(axes.size(), 1);
  return make_one(
      kSlice, {x}, at,
      {{"axes", std::move(axes)}, {"begin", std::move(begin)}, {"end", std::move(end)}, {"step", std::move(step)}});
}

namespace {

/// Whether a float64 represents the number exactly.
bool is_float64(const Literal& number) {
  if (!number.is_integer() || number.real() == 0) return true;
  const auto bits = number.as<std::uint64_t>();
  const std::uint64_t magnitude = number.real() < 0 ? 0 - bits : bits;
  return std::bit_width(magnitude) - std::countr_zero(magnitude) <= std::numeric_limits<double>::digits;
}

}  // namespace

Value pad(const Value& x, Ints low, Ints high, const Literal& value, source_location at) {
  if (!is_float64(value))  // the attribute is a float64
    throw Error(Code::plan, "Pad: the number " + value.str() + " has more bits than a float64")
        .at(at)
        .hint(is_float(x.dtype()) ? "write it as a floating-point number, with a decimal point"
                                  : "join constants to the array by concat() instead");
  return make_one(kPad, {x}, at, {{"high", std::move(high)}, {"low", std::move(low)}, {"value", value.real()}});
}

std::span<const OpDef* const> array_ops() {
  return kArrayOps;
}

}  // namespace ferry
