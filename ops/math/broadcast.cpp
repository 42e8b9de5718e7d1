#include "ops/math/broadcast.hpp"

#include <optional>

#include "base/error.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/reduce.hpp"
#include "ops/math/sizes.hpp"

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

constexpr AttrDef kShapeAttr[] = {{"shape", "ints"}};

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

constexpr const OpDef* kBroadcastOps[] = {&kBroadcastTo, &kSumLike};

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

std::span<const OpDef* const> broadcast_ops() {
  return kBroadcastOps;
}

}  // namespace ferry
