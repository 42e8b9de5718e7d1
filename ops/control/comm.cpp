#include "ops/control/comm.hpp"

#include <string>
#include <vector>

#include "graph/op/index_notation.hpp"
#include "graph/op/op_work.hpp"
#include "graph/types/halo.hpp"

namespace ferry {
namespace {

constexpr AttrDef kPartAttrs[] = {{"dim", "int"}, {"parts", "int"}};
constexpr AttrDef kHaloAttrs[] = {{"dim", "int"}, {"parts", "int"}, {"reads", "ints"}};
constexpr AttrDef kWindowAttrs[] = {{"begin", "ints"}, {"dim", "int"},   {"parts", "int"},  {"reads", "ints"},
                                    {"size", "ints"},  {"step", "ints"}, {"value", "float"}};

/// The shape with its first dim bounded or, if not `bounded`, fixed at the bound.
Shape with_first(Shape shape, bool bounded) {
  if (shape.rank() == 0) OpFacts::fail("a scalar has no bounded dim");
  const std::int64_t size = shape[0].size();
  shape[0] = bounded ? Dim::at_most(size) : Dim(size);
  return shape;
}

using Ints = std::vector<std::int64_t>;

std::vector<Shape> window_shape(const OpFacts& facts) {
  const auto &begin = facts.attr<Ints>("begin"), &step = facts.attr<Ints>("step"), &size = facts.attr<Ints>("size");
  const auto rank = static_cast<std::size_t>(facts.shape(0).rank());
  if (begin.size() != rank || step.size() != rank || size.size() != rank)
    OpFacts::fail("begin, step and size need a number for each of " + std::to_string(rank) + " dims");
  for (std::size_t d = 0; d < rank; ++d)
    if (step[d] < 1 || size[d] < 0) OpFacts::fail("a step below 1, or a size below 0");
  return {Shape(std::span<const std::int64_t>(size))};
}

std::optional<WindowOf> window_itself(const OpFacts& facts) {
  const auto &begin = facts.attr<Ints>("begin"), &step = facts.attr<Ints>("step"), &size = facts.attr<Ints>("size");
  WindowOf window{{}, facts.attr<double>("value")};
  for (std::size_t d = 0; d < begin.size(); ++d) window.dims.push_back({begin[d], step[d], size[d]});
  return window;
}

/// Returns index notation such as "a[b]->a[c]" if the window shifts or cuts dim 1.
std::string window_index(const OpFacts& facts) {
  const WindowOf window = *window_itself(facts);
  Letters letters;
  std::string from, to;
  for (std::size_t d = 0; d < window.dims.size(); ++d) {
    const bool cut = window.cuts(d, facts.shape(0)[static_cast<int>(d)].size());
    const std::string letter = letters.next();
    from += cut ? whole(letter) : letter;
    to += cut ? whole(letters.next()) : letter;
  }
  return term(from) + "->" + term(to);
}

/// One addition for each element of each input after the first.
double added_flops(const OpFacts& facts, std::span<const Type>) {
  return (facts.inputs() - 1) * known_count(facts.shape(0));
}

}  // namespace

const OpDef kTakePart{.name = "TakePart",
                      .types = "T->T",
                      .T = kAnyType,
                      .index = "...->...",
                      .flops = 0,
                      .bytes_of = moved_bytes,
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

const OpDef kCutHalo{.name = "CutHalo",
                     .types = "T->T",
                     .T = kAnyType,
                     .attrs = kHaloAttrs,
                     .index = "...->...",
                     .flops = 0,
                     .bytes_of = moved_bytes,
                     .flags = kMoves,
                     .role = OpRole::cut_halo,
                     .no_grad = "inserted after gradients are made"};
const OpDef kWindow{.name = "Window",
                    .types = "T...->T",
                    .T = kAnyType,
                    .attrs = kWindowAttrs,
                    .index_of = window_index,
                    .infer = window_shape,
                    .window = window_itself,
                    .flops = 0,
                    .role = OpRole::window,
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
                      .bytes_of = moved_bytes,
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

const OpDef kAddUp{.name = "AddUp",
                   .types = "T...->T",
                   .reduce = Reduce::sum,
                   .infer = [](const OpFacts& facts) -> std::vector<Shape> {
                     for (int i = 1; i < facts.inputs(); ++i)
                       if (facts.shape(i) != facts.shape(0)) OpFacts::fail("its inputs have different shapes");
                     return {facts.shape(0)};
                   },
                   .flops_of = added_flops,
                   .no_grad = "inserted after gradients are made"};

}  // namespace ferry
