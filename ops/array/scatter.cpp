#include "ops/array/scatter.hpp"

#include <array>
#include <string>

#include "base/error.hpp"
#include "graph/op/op_work.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

constexpr std::array<std::string_view, 5> kHow{"replace", "add", "multiply", "largest", "smallest"};

Scatter how_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("how");
  for (std::size_t i = 0; i < kHow.size(); ++i)
    if (kHow[i] == name) return static_cast<Scatter>(i);
  OpFacts::fail("how is \"" + name + "\"; known are replace, add, multiply, largest, smallest");
}

std::string name_of(Scatter how) {
  return std::string(kHow[static_cast<std::size_t>(how)]);
}

void check_joins(const OpFacts& facts) {
  if (how_of(facts.attrs()) != Scatter::replace && facts.input(0).dtype == DType::boolean)
    OpFacts::fail("bools can be replaced only");
}

// ---- Elements ----

/// Index notation of x and of the indices. For three dims with the middle dim as axis, it is "a(n)b" and "amb" for a
/// gather, and "a(n)b" and "a[m]b" for a scatter. If x and the indices have different sizes in another dim, they have
/// different letters there, and both are whole.
struct ElementTerms {
  std::string x, indices;
};

ElementTerms element_terms(const OpFacts& facts, bool whole_along) {
  const Shape &x = facts.shape(0), &indices = facts.shape(1);
  if (x.rank() != indices.rank())
    OpFacts::fail("indices have rank " + std::to_string(indices.rank()) + ", the value " + std::to_string(x.rank()));
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  Letters letters;
  ElementTerms terms;
  for (int d = 0; d < x.rank(); ++d) {
    const std::string letter = letters.next();
    const bool same = d != axis && same_dim(x[d], indices[d]);
    const bool free = d == axis && !whole_along;
    const std::string own = letters.next();
    terms.x += same ? letter : implied(letter);
    terms.indices += same ? letter : (free ? own : whole(own));
    if (d != axis && x[d].known() && indices[d].known() && indices[d].size() > x[d].size())
      OpFacts::fail("indices " + indices.str() + " reach beyond dim " + std::to_string(d) + " of " + x.str());
  }
  return terms;
}

std::string gather_elements_index(const OpFacts& facts) {
  const ElementTerms terms = element_terms(facts, false);
  return terms.x + "," + terms.indices + "->" + terms.indices;
}

std::string scatter_elements_index(const OpFacts& facts) {
  check_joins(facts);
  const ElementTerms terms = element_terms(facts, true);
  return terms.x + "," + terms.indices + "," + terms.indices + "->" + terms.x;
}

// ---- Blocks ----

/// The size of the last dim of the indices: the number of dims of x that a position covers.
int positions(const OpFacts& facts, int batch) {
  const Shape &x = facts.shape(0), &indices = facts.shape(1);
  const int rank = indices.rank();
  if (rank == 0) OpFacts::fail("indices are a scalar");
  if (batch < 0 || batch >= rank || batch > x.rank()) OpFacts::fail("batch_dims is " + std::to_string(batch));
  const Dim& last = indices[rank - 1];
  if (!last.fixed()) OpFacts::fail("the last size of indices " + indices.str() + " is not known");
  if (last.size() < 1 || last.size() > x.rank() - batch)
    OpFacts::fail("indices " + indices.str() + " give " + last.str() + " positions for " + x.str());
  return static_cast<int>(last.size());
}

std::string next_each(Letters& letters, int count, std::string (*mark)(const std::string&)) {
  std::string text;
  for (int i = 0; i < count; ++i) text += mark(letters.next());
  return text;
}

struct BlockTerms {
  std::string x, indices, updates;
};

/// Index notation of x, the indices and the updates. For positions in two dims it is "b(m)(n)r", "bi[k]" and "bir": b
/// is the batch, m and n are indexed, r is the block, i are the rows of the indices, and k is their last dim. If blocks
/// are written, i is whole.
BlockTerms block_terms(const OpFacts& facts, bool written) {
  const auto given = facts.attr<std::int64_t>("batch_dims");
  if (given < 0 || given > facts.shape(0).rank()) OpFacts::fail("batch_dims is " + std::to_string(given));
  const auto batch = static_cast<int>(given);
  const int k = positions(facts, batch);
  Letters letters;
  const std::string shared = letters.next(batch);
  const std::string rest = letters.next(facts.shape(0).rank() - batch - k);
  const int rows_rank = facts.shape(1).rank() - 1 - batch;
  const std::string rows = written ? next_each(letters, rows_rank, whole) : letters.next(rows_rank);
  const std::string found = next_each(letters, k, implied);
  return {shared + found + rest, shared + rows + whole(letters.next()), term(shared + rows + rest)};
}

std::string gather_nd_index(const OpFacts& facts) {
  const BlockTerms terms = block_terms(facts, false);
  return terms.x + "," + terms.indices + "->" + terms.updates;
}

std::string scatter_nd_index(const OpFacts& facts) {
  check_joins(facts);
  const BlockTerms terms = block_terms(facts, true);
  return terms.x + "," + terms.indices + "," + terms.updates + "->" + terms.x;
}

/// One operation for each element of the updates.
double scatter_nd_flops(const OpFacts& facts, std::span<const Type>) {
  return known_count(facts.shape(2));
}

// ---- Gradients ----

/// The gradients of a scatter. read(y) gathers from y at the op's indices; add_to(y, updates) adds the updates at them.
template <class Read, class AddTo>
Values scatter_grad(GradCtx& g, const Read& read, const AddTo& add_to) {
  const Value updates = g.in(2);
  const Value dy = g.dout();
  switch (how_of(g.attrs())) {
    case Scatter::replace:
      return {g.want(0,
                     [&] {
                       const Value written = add_to(zeros_like(dy), ones_like(updates));
                       return select(equal(written, 0), dy, 0);
                     }),
              Value(), g.want(2, [&] { return read(dy); })};
    case Scatter::add:
      return {dy, Value(), g.want(2, [&] { return read(dy); })};
    case Scatter::multiply:
      throw Error(Code::plan, "gradients: " + g.op().str() + " has none where elements are multiplied").at(g.line());
    case Scatter::largest:
    case Scatter::smallest:
      break;
  }
  // If several of these (the element of x, the updates) are equal to the result, they share its gradient.
  const Value kept = cast(equal(g.in(0), g.out()), dy.dtype());
  const Value chosen = cast(equal(updates, read(g.out())), dy.dtype());
  const Value share = dy / add_to(kept, chosen);
  return {kept * share, Value(), g.want(2, [&] { return chosen * read(share); })};
}

Values scatter_elements_grad(GradCtx& g) {
  const auto axis = g.attrs().get<std::int64_t>("axis");
  const Value indices = g.in(1);
  return scatter_grad(
      g, [&](const Value& y) { return gather_elements(y, indices, axis); },
      [&](const Value& to, const Value& what) { return scatter_elements(to, indices, what, axis, Scatter::add); });
}

Values scatter_nd_grad(GradCtx& g) {
  const auto batch = g.attrs().get<std::int64_t>("batch_dims");
  const Value indices = g.in(1);
  return scatter_grad(
      g, [&](const Value& y) { return gather_nd(y, indices, batch); },
      [&](const Value& to, const Value& what) { return scatter_nd(to, indices, what, batch, Scatter::add); });
}

// ---- Definitions ----

constexpr AttrDef kAxisAttr[] = {{"axis", "int"}};
constexpr AttrDef kAxisHowAttrs[] = {{"axis", "int"}, {"how", "string"}};
constexpr AttrDef kBatchHowAttrs[] = {{"batch_dims", "int"}, {"how", "string"}};
constexpr AttrDef kBatchAttr[] = {{"batch_dims", "int"}};

constexpr OpDef kGatherElements{
    .name = "GatherElements",
    .types = "T,U->T",
    .T = kAnyType,
    .U = kIndices,
    .attrs = kAxisAttr,
    .index_of = gather_elements_index,
    .linear = 0b01,
    .flops = 0,
    .bytes_of = gathered_bytes,
    .flags = kMoves,
    .grad = [](GradCtx& g) {
      const Value zeros = zeros_like(g.like());
      return Values{scatter_elements(zeros, g.in(1), g.dout(), g.attrs().get<std::int64_t>("axis"), Scatter::add),
                    Value()};
    }};

constexpr OpDef kScatterElements{.name = "ScatterElements",
                                 .types = "T,U,T->T",
                                 .T = kAnyType,
                                 .U = kIndices,
                                 .attrs = kAxisHowAttrs,
                                 .index_of = scatter_elements_index,
                                 .grad = scatter_elements_grad};

constexpr OpDef kGatherND{
    .name = "GatherND",
    .types = "T,U->T",
    .T = kAnyType,
    .U = kIndices,
    .attrs = kBatchAttr,
    .index_of = gather_nd_index,
    .linear = 0b01,
    .flops = 0,
    .bytes_of = gathered_bytes,
    .flags = kMoves,
    .grad = [](GradCtx& g) {
      const Value zeros = zeros_like(g.like());
      return Values{scatter_nd(zeros, g.in(1), g.dout(), g.attrs().get<std::int64_t>("batch_dims"), Scatter::add),
                    Value()};
    }};

constexpr OpDef kScatterND{.name = "ScatterND",
                           .types = "T,U,T->T",
                           .T = kAnyType,
                           .U = kIndices,
                           .attrs = kBatchHowAttrs,
                           .index_of = scatter_nd_index,
                           .flops_of = scatter_nd_flops,
                           .grad = scatter_nd_grad};

constexpr const OpDef* kScatterOps[] = {&kGatherElements, &kScatterElements, &kGatherND, &kScatterND};

}  // namespace

Value gather_elements(const Value& x, const Value& indices, std::int64_t axis, source_location at) {
  return make_one(kGatherElements, {x, indices}, at, {{"axis", axis}});
}

Value scatter_elements(const Value& x, const Value& indices, const Value& updates, std::int64_t axis, Scatter how,
                       source_location at) {
  return make_one(kScatterElements, {x, indices, updates}, at, {{"axis", axis}, {"how", name_of(how)}});
}

Value gather_nd(const Value& x, const Value& indices, std::int64_t batch_dims, source_location at) {
  return make_one(kGatherND, {x, indices}, at, {{"batch_dims", batch_dims}});
}

Value scatter_nd(const Value& x, const Value& indices, const Value& updates, std::int64_t batch_dims, Scatter how,
                 source_location at) {
  return make_one(kScatterND, {x, indices, updates}, at, {{"batch_dims", batch_dims}, {"how", name_of(how)}});
}

std::span<const OpDef* const> scatter_ops() {
  return kScatterOps;
}

}  // namespace ferry
