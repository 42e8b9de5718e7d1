#include "ops/control/comm.hpp"

namespace ferry {
namespace {

constexpr AttrDef kPartAttrs[] = {{"dim", "int"}, {"parts", "int"}};

/// The shape with its first dim bounded, or fixed at the bound.
Shape with_first(Shape shape, bool bounded) {
  if (shape.rank() == 0) OpFacts::fail("a scalar has no bounded dim");
  const std::int64_t size = shape[0].size();
  shape[0] = bounded ? Dim::at_most(size) : Dim(size);
  return shape;
}

}  // namespace

const OpDef kTakePart{.name = "TakePart",
                      .types = "T->T",
                      .T = kAnyType,
                      .index = "...->...",
                      .flops = 0,
                      .flags = kMoves,
                      .role = OpRole::take_part,
                      .no_grad = "inserted after gradients are made"};
const OpDef kJoinParts{.name = "JoinParts",
                       .types = "T->T",
                       .T = kAnyType,
                       .attrs = kPartAttrs,
                       .index = "...->...",
                       .flops = 0,
                       .flags = kMoves,
                       .no_grad = "inserted after gradients are made"};
const OpDef kCutParts{.name = "CutParts",
                      .types = "T->T",
                      .T = kAnyType,
                      .attrs = kPartAttrs,
                      .index = "...->...",
                      .flops = 0,
                      .flags = kMoves,
                      .no_grad = "inserted after gradients are made"};

const OpDef kFillBound{
    .name = "FillBound",
    .types = "T->T",
    .T = kAnyType,
    .infer = [](const OpFacts& facts) -> std::vector<Shape> { return {with_first(facts.shape(0), false)}; },
    .flops = 0,
    .flags = kMoves,
    .role = OpRole::fill_bound,
    .no_grad = "inserted after gradients are made"};
const OpDef kExtentOf{.name = "ExtentOf",
                      .types = "T->int64",
                      .T = kAnyType,
                      .infer = [](const OpFacts&) -> std::vector<Shape> { return {Shape{1}}; },
                      .flops = 0,
                      .role = OpRole::extent_of,
                      .no_grad = "inserted after gradients are made"};
const OpDef kWithExtent{
    .name = "WithExtent",
    .types = "T,int64->T",
    .T = kAnyType,
    .infer = [](const OpFacts& facts) -> std::vector<Shape> { return {with_first(facts.shape(0), true)}; },
    .flops = 0,
    .flags = kMoves,
    .role = OpRole::with_extent,
    .no_grad = "inserted after gradients are made"};

}  // namespace ferry
