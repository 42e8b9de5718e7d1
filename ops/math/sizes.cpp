#include "ops/math/sizes.hpp"

#include <string>
#include <utility>

#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

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

constexpr AttrDef kSizeAttrs[] = {{"axes", "ints"}, {"dtype", "dtype"}};

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

constexpr OpDef kSizeOf{.name = "SizeOf",
                        .types = "T->@dtype",
                        .T = kAnyType,
                        .attrs = kSizeAttrs,
                        .index_of = size_of_index,
                        .unread = 0b1,
                        .flops = 0,
                        .grad = [](GradCtx&) { return Values{Value()}; }};

constexpr const OpDef* kSizeOps[] = {&kBroadcastLike, &kSizeOf};

}  // namespace

Value broadcast_as(const Value& x, const Value& like, source_location at) {
  if (surely_equal(x.shape(), like.shape())) return x;
  return make_one(kBroadcastLike, {x, like}, at);
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

std::span<const OpDef* const> size_ops() {
  return kSizeOps;
}

}  // namespace ferry
