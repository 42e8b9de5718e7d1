#include "ops/math/reduce.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/sizes.hpp"

namespace ferry {
namespace {

/// Returns index notation such as "abc->ac" for axes {1}, or "a[b]c->ac" if the reduced dims must be whole.
std::string folded_index(const OpFacts& facts, bool whole_dims) {
  std::vector<int> axes;
  for (std::int64_t axis : facts.attr<Ints>("axes")) axes.push_back(facts.axis(0, axis));
  Letters letters;
  std::string in, out;
  for (int i = 0; i < facts.shape(0).rank(); ++i) {
    const std::string letter = letters.next();
    const bool kept = std::find(axes.begin(), axes.end(), i) == axes.end();
    in += !kept && whole_dims ? whole(letter) : letter;
    if (kept) out += letter;
  }
  return term(in) + "->" + term(out);
}
std::string reduce_index(const OpFacts& facts) {
  return folded_index(facts, false);
}
std::string prod_index(const OpFacts& facts) {
  return folded_index(facts, true);
}

/// Returns index notation such as "a[n]b->ab".
std::string argmax_index(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  if (facts.shape(0)[axis].size() == 0) OpFacts::fail("dim " + std::to_string(axis) + " is empty");
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string along = letters.next();
  const std::string after = letters.next(facts.shape(0).rank() - axis - 1);
  return before + whole(along) + after + "->" + term(before + after);
}

Values extremum_grad(GradCtx& g) {
  const Ints& axes = g.attrs().get<Ints>("axes");
  const Value chosen = cast(equal(g.in(), expand_dims(g.out(), axes)), g.in().dtype());
  const Value shares = sum(chosen, axes, true);
  return {chosen * (expand_dims(g.dout(), axes) / shares)};
}

// The gradient of an element is the product of all other elements. This is the whole product divided by the element or,
// if it is the only 0, the product of the nonzero elements.
Values prod_grad(GradCtx& g) {
  const Ints& axes = g.attrs().get<Ints>("axes");
  const Value x = g.in();
  const Value zero = equal(x, 0);
  const Value zeros = sum(cast(zero, DType::int32), axes, true);
  const Value others = select(zero, 1, x);
  const Value product = prod(others, axes, true);
  const Value scaled = expand_dims(g.dout(), axes) * product;
  const Value of_others = select(equal(zeros, 0), scaled, 0);
  const Value of_zero = select(equal(zeros, 1), scaled, 0);
  return {select(zero, of_zero, of_others / others)};
}

constexpr AttrDef kArgAttrs[] = {{"axis", "int"}, {"last", "bool", false}};

constexpr OpDef kSum{.name = "Sum",
                     .types = "T->T",
                     .attrs = kAxesAttr,
                     .index_of = reduce_index,
                     .reduce = Reduce::sum,
                     .linear = 0b1,
                     .grad = [](GradCtx& g) {
                       return Values{broadcast_as(expand_dims(g.dout(), g.attrs().get<Ints>("axes")), g.like())};
                     }};

constexpr OpDef kMax{.name = "Max",
                     .types = "T->T",
                     .attrs = kAxesAttr,
                     .index_of = reduce_index,
                     .reduce = Reduce::max,
                     .grad = extremum_grad};

constexpr OpDef kMin{.name = "Min",
                     .types = "T->T",
                     .attrs = kAxesAttr,
                     .index_of = reduce_index,
                     .reduce = Reduce::min,
                     .grad = extremum_grad};

constexpr OpDef kProd{.name = "Prod", .types = "T->T", .attrs = kAxesAttr, .index_of = prod_index, .grad = prod_grad};

constexpr OpDef kArgMax{.name = "ArgMax",
                        .types = "T->int64",
                        .attrs = kArgAttrs,
                        .index_of = argmax_index,
                        .no_grad = "its result is an index"};
constexpr OpDef kArgMin{.name = "ArgMin",
                        .types = "T->int64",
                        .attrs = kArgAttrs,
                        .index_of = argmax_index,
                        .no_grad = "its result is an index"};

constexpr const OpDef* kReduceOps[] = {&kSum, &kMax, &kMin, &kProd, &kArgMax, &kArgMin};

Value index_of_best(const OpDef& def, const Value& x, std::int64_t axis, bool last, const SourceLine& line) {
  Attrs attrs{{"axis", axis}};
  if (last) attrs.set("last", true);
  return make_one(def, {x}, line, std::move(attrs));
}

Value reduce(const OpDef& def, const Value& x, Ints given, bool keep_dims, const SourceLine& line) {
  const Scope here = caller_scope(graph_of({{x}}, line), line);
  const Ints axes = checked_axes(def.name, x, std::move(given), line);
  const Value result = make_one(def, {x}, line, {{"axes", axes}});
  return keep_dims && !axes.empty() ? expand_dims(result, axes) : result;
}

}  // namespace

Value sum(const Value& x, Ints axes, bool keep_dims, source_location at) {
  return reduce(kSum, x, std::move(axes), keep_dims, at);
}

Value max(const Value& x, Ints axes, bool keep_dims, source_location at) {
  return reduce(kMax, x, std::move(axes), keep_dims, at);
}

Value min(const Value& x, Ints axes, bool keep_dims, source_location at) {
  return reduce(kMin, x, std::move(axes), keep_dims, at);
}

Value mean(const Value& x, Ints axes, bool keep_dims, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  require_float("mean", x, at);
  axes = checked_axes("mean", x, std::move(axes), at);
  if (is_half(x.dtype()))  // sums and counts soon exceed the range of 16 bits
    return cast(mean(cast(x, DType::float32), std::move(axes), keep_dims), x.dtype());
  const Value total = sum(x, axes, keep_dims);
  return total / size_of(x, std::move(axes), x.dtype());
}

Value prod(const Value& x, Ints axes, bool keep_dims, source_location at) {
  return reduce(kProd, x, std::move(axes), keep_dims, at);
}

Value log_sum_exp(const Value& x, Ints axes, bool keep_dims, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  require_float("log_sum_exp", x, at);
  axes = checked_axes("log_sum_exp", x, std::move(axes), at);
  return in_float32({x}, at, [&](const Values& v) {
    const Value largest = stop_gradient(max(v[0], axes, true));
    // An infinite maximum is not subtracted: infinity - infinity is NaN.
    const Value shift = select(less(abs(largest), std::numeric_limits<double>::infinity()), largest, 0);
    const Value result = log(sum(exp(v[0] - shift), axes, true)) + shift;
    return keep_dims ? result : squeeze(result, axes);
  });
}

Value argmax(const Value& x, std::int64_t axis, bool last, source_location at) {
  return index_of_best(kArgMax, x, axis, last, at);
}

Value argmin(const Value& x, std::int64_t axis, bool last, source_location at) {
  return index_of_best(kArgMin, x, axis, last, at);
}

std::span<const OpDef* const> reduce_ops() {
  return kReduceOps;
}

}  // namespace ferry
