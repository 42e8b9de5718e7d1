#include "ops/array/indexing.hpp"

#include "base/error.hpp"
#include "graph/op/op_work.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

int axis_of(const OpFacts& facts, int i) {
  return facts.axis(i, facts.attr<std::int64_t>("axis"));
}

struct GatherTerms {
  std::string x, indices, result;
};

/// Returns the terms of x, of the indices and of the result, such as "a(n)b", "ij" and "aijb". x has rank `rank`.
GatherTerms gather_terms(int rank, int axis, int index_rank) {
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string rows = letters.next();
  const std::string after = letters.next(rank - axis - 1);
  const std::string indices = letters.next(index_rank);
  return {before + implied(rows) + after, term(indices), term(before + indices + after)};
}

std::string gather_index(const OpFacts& facts) {
  const GatherTerms terms = gather_terms(facts.shape(0).rank(), axis_of(facts, 0), facts.shape(1).rank());
  return terms.x + "," + terms.indices + "->" + terms.result;
}

std::string scatter_index(const OpFacts& facts) {
  const GatherTerms terms = gather_terms(facts.shape(2).rank(), axis_of(facts, 2), facts.shape(1).rank());
  return terms.result + "," + terms.indices + "," + terms.x + "->" + terms.x;
}

Value scatter_add(const Value& y, const Value& indices, const Value& like, std::int64_t axis);

std::string one_hot_index(const OpFacts& facts) {
  const std::string letters = Letters().next(facts.shape(0).rank() + 1);
  return term(letters.substr(0, letters.size() - 1)) + "->" + letters;
}

std::vector<Shape> one_hot_shape(const OpFacts& facts) {
  const auto depth = facts.attr<std::int64_t>("depth");
  if (depth < 1) OpFacts::fail("a depth of " + std::to_string(depth));
  Shape shape = facts.shape(0);
  shape.push_back(depth);
  return {shape};
}

std::string nonzero_index(const OpFacts& facts) {
  Letters letters;
  std::string in;
  for (int d = 0; d < facts.shape(0).rank(); ++d) in += whole(letters.next());
  const std::string row = letters.next();
  return term(in) + "->" + implied(row) + whole(letters.next());
}

std::vector<Shape> nonzero_shape(const OpFacts& facts) {
  const Shape& shape = facts.shape(0);
  if (shape.rank() == 0) OpFacts::fail("a scalar has no positions");
  return {Shape{shape.known() ? Dim::at_most(shape.count()) : Dim::unknown(), shape.rank()}};
}

std::vector<Shape> arange_shape(const OpFacts& facts) {
  const auto most = facts.attr<std::int64_t>("most");
  if (most < 0) OpFacts::fail("at most " + std::to_string(most) + " elements");
  return {Shape{Dim::at_most(most)}};
}

std::string check_range_index(const OpFacts& facts) {
  if (const auto size = facts.attr<std::int64_t>("size"); size < 0) OpFacts::fail("a size of " + std::to_string(size));
  return "...->...";
}

double nonzero_flops(const OpFacts& facts, std::span<const Type>) {
  return known_count(facts.shape(0));  // one comparison for each element
}

constexpr AttrDef kAxisAttr[] = {{"axis", "int"}};
constexpr AttrDef kMostAttr[] = {{"most", "int"}};
constexpr AttrDef kRangeAttrs[] = {{"ignored", "int", false}, {"kind", "string"}, {"size", "int"}};
constexpr AttrDef kOneHotAttrs[] = {{"depth", "int"}, {"dtype", "dtype"}};

constexpr OpDef kGather{
    .name = "Gather",
    .types = "T,U->T",
    .T = kAnyType,
    .U = kIndices,
    .attrs = kAxisAttr,
    .index_of = gather_index,
    .linear = 0b01,
    .flops = 0,
    .bytes_of = gathered_bytes,
    .flags = kMoves,
    .grad = [](GradCtx& g) {
      return Values{scatter_add(g.dout(), g.in(1), g.in(0), g.attrs().get<std::int64_t>("axis")), Value()};
    }};

constexpr OpDef kScatterAdd{
    .name = "ScatterAdd",
    .types = "T,U,T->T",
    .U = kIndices,
    .attrs = kAxisAttr,
    .index_of = scatter_index,
    .reduce = Reduce::sum,
    .linear = 0b001,
    .unread = 0b100,
    .grad = [](GradCtx& g) {
      return Values{gather(g.dout(), g.in(1), g.attrs().get<std::int64_t>("axis")), Value(), Value()};
    }};

constexpr OpDef kOneHot{.name = "OneHot",
                        .types = "U->@dtype",
                        .U = kInts,
                        .attrs = kOneHotAttrs,
                        .index_of = one_hot_index,
                        .infer = one_hot_shape,
                        .flops = 0,
                        .no_grad = "its input is an index"};

constexpr OpDef kNonZero{.name = "NonZero",
                         .types = "T->int64",
                         .T = kAnyType,
                         .index_of = nonzero_index,
                         .infer = nonzero_shape,
                         .flops_of = nonzero_flops,
                         .no_grad = "its result is an index"};

constexpr OpDef kArange{.name = "Arange",
                        .types = "int64->int64",
                        .attrs = kMostAttr,
                        .index = ".->[n]",
                        .infer = arange_shape,
                        .flops = 0,
                        .no_grad = "its result is an index"};

constexpr OpDef kCheckRange{.name = "CheckRange",
                            .types = "U->U",
                            .U = kInts,
                            .attrs = kRangeAttrs,
                            .index_of = check_range_index,
                            .flops = 0,
                            .flags = kMoves,
                            .no_grad = "its input is an index"};

constexpr const OpDef* kIndexingOps[] = {&kGather, &kScatterAdd, &kOneHot, &kNonZero, &kArange, &kCheckRange};

Value scatter_add(const Value& y, const Value& indices, const Value& like, std::int64_t axis) {
  return make_one(kScatterAdd, {y, indices, like}, y.op().line(), {{"axis", axis}});
}

}  // namespace

Value gather(const Value& x, const Value& indices, std::int64_t axis, source_location at) {
  return make_one(kGather, {x, indices}, at, {{"axis", axis}});
}

Value one_hot(const Value& indices, std::int64_t depth, DType dtype, source_location at) {
  return make_one(kOneHot, {indices}, at, {{"depth", depth}, {"dtype", dtype}});
}

Value nonzero(const Value& x, source_location at) {
  return make_one(kNonZero, {x}, at);
}

Value arange(const Value& count, std::int64_t most, source_location at) {
  return make_one(kArange, {count}, at, {{"most", most}});
}

Value check_range(const Value& x, std::int64_t size, IndexKind kind, std::optional<std::int64_t> ignored,
                  source_location at) {
  constexpr const char* kNames[] = {"position", "label", "length", "image"};
  Attrs attrs{{"kind", std::string(kNames[static_cast<std::size_t>(kind)])}, {"size", size}};
  if (ignored) attrs.set("ignored", *ignored);
  return make_one(kCheckRange, {x}, at, std::move(attrs));
}

std::span<const OpDef* const> indexing_ops() {
  return kIndexingOps;
}

}  // namespace ferry
