#include "ops/array/arrange.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// Returns index notation such as "a[n]b->a[n]b" if dim 1 is reversed.
std::string flip_index(const OpFacts& facts) {
  std::vector<bool> flipped(static_cast<std::size_t>(facts.shape(0).rank()));
  for (std::int64_t axis : facts.attr<Ints>("axes")) flipped[facts.axis(0, axis)] = true;
  Letters letters;
  std::string text;
  for (bool turned : flipped) {
    const std::string letter = letters.next();
    text += turned ? whole(letter) : letter;
  }
  return term(text) + "->" + term(text);
}

/// Returns index notation such as "b[t]r,b->b[t]r".
std::string reverse_sequence_index(const OpFacts& facts) {
  const auto time = facts.attr<std::int64_t>("time_axis");
  const int rank = facts.shape(0).rank();
  if (rank < 2 || time < 0 || time > 1)
    OpFacts::fail("time_axis is " + std::to_string(time) + " of " + facts.shape(0).str() +
                  "; it is 0 or 1 of two dims or more");
  Letters letters;
  const std::string batch = letters.next();
  const std::string steps = whole(letters.next());
  const std::string all = (time == 0 ? steps + batch : batch + steps) + letters.next(rank - 2);
  return all + "," + batch + "->" + all;
}

Value triangle(const Value& x, std::int64_t k, bool upper, const SourceLine& line);

constexpr AttrDef kTriangleAttrs[] = {{"k", "int"}, {"upper", "bool"}};
constexpr AttrDef kTimeAttr[] = {{"time_axis", "int"}};

constexpr OpDef kFlip{.name = "Flip",
                      .types = "T->T",
                      .T = kAnyType,
                      .attrs = kAxesAttr,
                      .index_of = flip_index,
                      .linear = 0b1,
                      .flops = 0,
                      .flags = kMoves,
                      .grad = [](GradCtx& g) { return Values{flip(g.dout(), g.attrs().get<Ints>("axes"))}; }};

constexpr OpDef kTriangle{
    .name = "Triangle",
    .types = "T->T",
    .T = kAnyType,
    .attrs = kTriangleAttrs,
    .index = "...mn->...mn",
    .linear = 0b1,
    .flops = 0,
    .grad = [](GradCtx& g) {
      return Values{triangle(g.dout(), g.attrs().get<std::int64_t>("k"), g.attrs().get<bool>("upper"), g.line())};
    }};

constexpr OpDef kReverseSequence{
    .name = "ReverseSequence",
    .types = "T,U->T",
    .T = kAnyType,
    .U = kIndices,
    .attrs = kTimeAttr,
    .index_of = reverse_sequence_index,
    .linear = 0b01,
    .flops = 0,
    .flags = kMoves,
    .grad = [](GradCtx& g) {
      return Values{reverse_sequence(g.dout(), g.in(1), g.attrs().get<std::int64_t>("time_axis")), Value()};
    }};

constexpr const OpDef* kArrangeOps[] = {&kFlip, &kTriangle, &kReverseSequence};

Value triangle(const Value& x, std::int64_t k, bool upper, const SourceLine& line) {
  return make_one(kTriangle, {x}, line, {{"k", k}, {"upper", upper}});
}

// ---- Padding ----

/// Maps a position of the padded dim to an element of the dim, which has n elements. `place` is counted from the first
/// element, so that it is outside of [0, n) in the padding.
std::int64_t inside(std::int64_t place, std::int64_t n, PadMode mode) {
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  if (mode == PadMode::edge) return std::clamp<std::int64_t>(place, 0, n - 1);
  if (mode == PadMode::wrap) return modulo(place, n);
  if (n == 1) return 0;
  const std::int64_t at = modulo(place, 2 * (n - 1));
  return std::min(at, 2 * (n - 1) - at);
}

/// The padding for the positions [first, first + count), all of them outside of x's dim.
Value border(const Value& x, int dim, std::int64_t first, std::int64_t count, PadMode mode, const SourceLine& line) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;  // a limit, because the indices become a constant of the graph
  if (count > kMost)
    throw Error(Code::plan, "pad: dim " + std::to_string(dim) + " of " + x.name() + " " + x.shape().str() +
                                " would get more than 2^24 elements on one side")
        .at(line)
        .hint("pad with less, or concat() a value of that size");
  Tensor places(DType::int64, {count});
  for (std::int64_t i = 0; i < count; ++i)
    places.mutable_data<std::int64_t>()[i] = inside(first + i, x.shape()[dim].size(), mode);
  return gather(x, x.graph().add(kConstant, {}, {{"value", std::move(places)}}, line)[0], dim);
}

Value padded(const Value& x, int dim, std::int64_t low, std::int64_t high, PadMode mode, const SourceLine& line) {
  const Dim& size = x.shape()[dim];
  const auto fail = [&](const char* why) {
    throw Error(Code::plan, "pad: dim " + std::to_string(dim) + " of " + x.name() + " " + x.shape().str() + why)
        .at(line);
  };
  if (!size.fixed()) fail(" is not known");
  if (size.size() == 0) fail(" is empty");
  if (size.size() > kEnd / 4) fail(" is too long");  // positions must not overflow 64 bits
  Values parts;
  if (low > 0) parts.push_back(border(x, dim, -low, low, mode, line));
  parts.push_back(x);
  if (high > 0) parts.push_back(border(x, dim, size.size(), high, mode, line));
  return concat(parts, dim);
}

// ---- Blocks of pixels ----

/// The size of x's dim for reshape(); -1 if it is unknown or bounded.
std::int64_t known_size(const Value& x, int dim) {
  const Dim& size = x.shape()[dim];
  return size.fixed() ? size.size() : -1;
}

/// Whether `size` can be the size of a block: it is positive, and its square does not overflow.
bool is_block(std::int64_t size) {
  return size > 0 && size <= std::numeric_limits<std::int32_t>::max();
}

std::int64_t times(std::int64_t size, std::int64_t factor) {
  return size < 0 ? -1 : checked_count(Ints{size, factor});
}

void check_blocks(std::string_view what, const Value& x, bool fits, const SourceLine& line) {
  if (x.rank() == 4 && fits) return;
  throw Error(Code::plan, std::string(what) + ": blocks do not fit " + x.name() + " " + x.shape().str())
      .at(line)
      .hint("give a value of four dims, [n,channels,rows,columns], and a block that divides them");
}

}  // namespace

Value flip(const Value& x, Ints axes, source_location at) {
  return make_one(kFlip, {x}, at, {{"axes", std::move(axes)}});
}

Value tril(const Value& x, std::int64_t k, source_location at) {
  return triangle(x, k, false, at);
}

Value triu(const Value& x, std::int64_t k, source_location at) {
  return triangle(x, k, true, at);
}

Value roll(const Value& x, std::int64_t shift, std::int64_t axis, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const auto dim = static_cast<int>(checked_axes("roll", x, {axis}, at)[0]);
  const Dim& size = x.shape()[dim];
  if (!size.fixed())
    throw Error(Code::plan,
                "roll: dim " + std::to_string(dim) + " of " + x.name() + " " + x.shape().str() + " has no known size")
        .at(at);
  const std::int64_t n = size.size();
  const std::int64_t up = n == 0 ? 0 : (shift % n + n) % n;
  if (up == 0) return x;
  const Value stays = slice(x, dim, 0, n - up);
  const Value enters = slice(x, dim, n - up);
  if (x.dtype() == DType::boolean) return concat({enters, stays}, dim);
  // Adds two windows instead of a concatenation, because a split window needs only halos. Adding -0 changes no element,
  // not even -0.
  Ints low(static_cast<std::size_t>(x.rank()), 0), high = low, none = low;
  low[dim] = up;
  high[dim] = n - up;
  const double nothing = is_float(x.dtype()) ? -0.0 : 0.0;
  const Value moved = pad(stays, low, none, nothing);
  const Value entered = pad(enters, none, high, nothing);
  return moved + entered;
}

Value tile(const Value& x, Ints repeats, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const int rank = x.rank();
  bool fits = static_cast<int>(repeats.size()) == rank;
  for (std::int64_t times : repeats) fits = fits && times >= 0;
  if (!fits)
    throw Error(Code::plan, "tile: needs a number of times for each dim of " + x.name() + " " + x.shape().str())
        .at(at)
        .hint("give {} numbers of 0 or more; 1 leaves a dim as it is", rank);
  const Shape& shape = x.shape();
  if (!shape.fixed()) {  // the reshapes below need the sizes as attributes
    Value result = x;
    for (int d = 0; d < rank; ++d) {
      const std::int64_t times = repeats[d];
      if (times == 0) result = slice(result, d, 0, 0);
      if (times > 1) result = concat(Values(static_cast<std::size_t>(times), result), d);
    }
    return result;
  }
  Ints once, spread, result;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t times = repeats[d];
    once.insert(once.end(), {1, shape[d].size()});
    spread.insert(spread.end(), {times, shape[d].size()});
    result.push_back(checked_count(std::initializer_list<std::int64_t>{times, shape[d].size()}));
  }
  return reshape(broadcast_to(reshape(x, once), spread), result);
}

Value pad(const Value& x, Ints low, Ints high, PadMode mode, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  if (static_cast<int>(low.size()) != x.rank() || static_cast<int>(high.size()) != x.rank())
    throw Error(Code::plan, "pad: low and high need one size for each dim of " + x.name() + " " + x.shape().str())
        .at(at)
        .hint("give {} sizes in each; 0 leaves a dim as it is", x.rank());
  Value result = x;
  for (int d = 0; d < x.rank(); ++d) {
    const std::int64_t before = low[d];
    const std::int64_t behind = high[d];
    if (before < 0 || behind < 0)
      result = slice(result, d, -std::clamp<std::int64_t>(before, -kEnd, 0), behind < 0 ? behind : kEnd);
    if (before > 0 || behind > 0)
      result = padded(result, d, std::max<std::int64_t>(0, before), std::max<std::int64_t>(0, behind), mode, at);
  }
  return result;
}

Value depth_to_space(const Value& x, std::int64_t block, bool channels_first, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const std::int64_t channels = x.rank() == 4 ? known_size(x, 1) : -1;
  check_blocks("depth_to_space", x, is_block(block) && channels >= 0 && channels % (block * block) == 0, at);
  const std::int64_t n = known_size(x, 0), h = known_size(x, 2), w = known_size(x, 3), c = channels / (block * block);
  const Value parts = channels_first ? reshape(x, {n, c, block, block, h, w}) : reshape(x, {n, block, block, c, h, w});
  const Value ordered = transpose(parts, channels_first ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2});
  return reshape(ordered, {n, c, times(h, block), times(w, block)});
}

Value space_to_depth(const Value& x, std::int64_t block, bool channels_first, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const std::int64_t h = x.rank() == 4 ? known_size(x, 2) : -1, w = x.rank() == 4 ? known_size(x, 3) : -1;
  check_blocks("space_to_depth", x, is_block(block) && h >= 0 && w >= 0 && h % block == 0 && w % block == 0, at);
  const std::int64_t n = known_size(x, 0), c = known_size(x, 1);
  const Value parts = reshape(x, {n, c, h / block, block, w / block, block});
  const Value ordered = transpose(parts, channels_first ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4});
  return reshape(ordered, {n, times(c, block * block), h / block, w / block});
}

Value reverse_sequence(const Value& x, const Value& lengths, std::int64_t time_axis, source_location at) {
  return make_one(kReverseSequence, {x, lengths}, at, {{"time_axis", time_axis}});
}

std::span<const OpDef* const> arrange_ops() {
  return kArrangeOps;
}

}  // namespace ferry
