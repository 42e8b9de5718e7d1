#include "ops/math/broadcast.hpp"

#include <optional>

#include "base/error.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

std::vector<Shape> broadcast_shape(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const Shape to{std::span<const std::int64_t>(facts.attr<Ints>("shape"))};
  static_cast<void>(to.count());
  const int added = to.rank() - from.rank();
  for (int d = 0; d < from.rank(); ++d)
    if (added < 0 || (from[d].known() && !is_one(from[d]) && from[d] != to[d + added]))
      OpFacts::fail(from.str() + " does not broadcast to " + to.str());
  return {to};
}

/// Returns index notation such as "[x]b->cab" for [1,3] to [2,4,3].
std::string broadcast_index(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const Shape to{std::span<const std::int64_t>(facts.attr<Ints>("shape"))};
  const int added = to.rank() - from.rank();
  Letters letters;
  std::string in, out;
  for (int d = 0; d < to.rank(); ++d) {
    const std::string letter = letters.next();
    out += letter;
    if (d >= added) in += is_one(from[d - added]) && !is_one(to[d]) ? whole(letters.next()) : letter;
  }
  return term(in) + "->" + term(out);
}

/// Returns index notation such as "abc,b[x]->b[x]" for x of [2,3,4] and like of [3,1].
std::string sum_like_index(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const Shape& like = facts.shape(1);
  const int added = from.rank() - like.rank();
  if (added < 0) OpFacts::fail("a value of " + like.str() + " is not broadcast to " + from.str());
  Letters letters;
  std::string in, out;
  for (int d = 0; d < from.rank(); ++d) {
    const std::string letter = letters.next();
    in += letter;
    if (d >= added) out += is_one(like[d - added]) && !is_one(from[d]) ? whole(letters.next()) : letter;
  }
  return term(in) + "," + term(out) + "->" + term(out);
}

/// Returns index notation such as "ab->.", or "[a]b->." if the first dim is bounded and counted: a part of the value
/// does not know the extent of the whole value.
std::string size_of_index(const OpFacts& facts) {
  Letters letters;
  std::string in = term(letters.next(facts.shape(0).rank()));
  for (std::int64_t axis : facts.attr<Ints>("axes"))
    if (const int dim = facts.axis(0, axis); facts.shape(0)[dim].bounded()) in = whole(in.substr(0, 1)) + in.substr(1);
  return in + "->.";
}

/// The kernel compares the extents of two bounded values, so the op is needed even if it changes nothing.
int same_unless_compared(const OpFacts& facts) {
  return facts.shape(0).bounded() && facts.shape(1).bounded() ? -1 : 0;
}

constexpr AttrDef kShapeAttr[] = {{"shape", "ints"}};
constexpr AttrDef kSizeAttrs[] = {{"axes", "ints"}, {"dtype", "dtype"}};

constexpr OpDef kBroadcastTo{.name = "BroadcastTo",
                             .types = "T->T",
                             .T = kAnyType,
                             .attrs = kShapeAttr,
                             .index_of = broadcast_index,
                             .linear = 0b1,
                             .infer = broadcast_shape,
                             .same = same_as_input,
                             .flops = 0,
                             .flags = kMoves,
                             .grad = [](GradCtx& g) { return Values{sum_as(g.dout(), g.like())}; }};

constexpr OpDef kBroadcastLike{.name = "BroadcastLike",
                               .types = "T,U->T",
                               .T = kAnyType,
                               .U = kAnyType,
                               .index = "...,...->...",
                               .linear = 0b01,
                               .unread = 0b10,
                               .same = same_unless_compared,
                               .flops = 0,
                               .flags = kMoves,
                               .grad = [](GradCtx& g) {
                                 return Values{g.dout(), Value()};
                               }};

constexpr OpDef kSumLike{.name = "SumLike",
                         .types = "T,U->T",
                         .U = kAnyType,
                         .index_of = sum_like_index,
                         .reduce = Reduce::sum,
                         .linear = 0b01,
                         .unread = 0b10,
                         // The result has the sizes of `like` even if the sizes of x are known: an unknown size may
                         // turn out to be 1.
                         .infer = [](const OpFacts& facts) -> std::vector<Shape> { return {facts.shape(1)}; },
                         .grad =
                             [](GradCtx& g) {
                               return Values{broadcast_as(g.dout(), g.like()), Value()};
                             }};

constexpr OpDef kSizeOf{.name = "SizeOf",
                        .types = "T->@dtype",
                        .T = kAnyType,
                        .attrs = kSizeAttrs,
                        .index_of = size_of_index,
                        .unread = 0b1,
                        .flops = 0,
                        .grad = [](GradCtx&) { return Values{Value()}; }};

constexpr const OpDef* kBroadcastOps[] = {&kBroadcastTo, &kBroadcastLike, &kSumLike, &kSizeOf};

/// The axes over which x must be summed to have like's shape. Returns nothing if they depend on sizes that are not yet
/// known.
std::optional<Ints> summed_axes(const Shape& x, const Shape& like) {
  const int added = x.rank() - like.rank();
  Ints axes;
  for (int d = 0; d < x.rank(); ++d) {
    if (d < added || (is_one(like[d - added]) && !is_one(x[d])))
      axes.push_back(d);
    else if (!same_dim(x[d], like[d - added]))
      return std::nullopt;
  }
  return axes;
}

}  // namespace

Value broadcast_to(const Value& x, Ints sizes, source_location at) {
  return make_one(kBroadcastTo, {x}, at, {{"shape", std::move(sizes)}});
}

Value broadcast_as(const Value& x, const Value& like, source_location at) {
  if (surely_equal(x.shape(), like.shape())) return x;
  return make_one(kBroadcastLike, {x, like}, at);
}

Value sum_as(const Value& x, const Value& like, source_location at) {
  if (surely_equal(x.shape(), like.shape())) return x;
  const auto axes = summed_axes(x.shape(), like.shape());
  if (!axes || axes->empty()) return make_one(kSumLike, {x, like}, at);
  const Scope here = caller_scope(graph_of({{x, like}}, at), at);
  const Value total = sum(x, *axes);
  const int added = x.rank() - like.rank();
  Ints kept;
  for (std::int64_t axis : *axes)
    if (axis >= added) kept.push_back(axis - added);
  return expand_dims(total, kept);
}

Value zeros_like(const Value& like, source_location at) {
  return broadcast_as(number_constant(graph_of({{like}}, at), 0, like.dtype(), at), like, at);
}

Value ones_like(const Value& like, source_location at) {
  return broadcast_as(number_constant(graph_of({{like}}, at), 1, like.dtype(), at), like, at);
}

Value size_of(const Value& x, Ints axes, DType dtype, source_location at) {
  const Ints dims = checked_axes("size_of", x, std::move(axes), at);
  return make_one(kSizeOf, {x}, at, {{"axes", dims}, {"dtype", dtype}});
}

std::span<const OpDef* const> broadcast_ops() {
  return kBroadcastOps;
}

}  // namespace ferry
