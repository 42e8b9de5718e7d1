#include "ops/math/cumulative.hpp"

#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// The attributes of CumSum and CumProd.
struct Running {
  std::int64_t axis;
  bool exclusive, reverse;
};

Running running_of(const Attrs& attrs) {
  return {attrs.get<std::int64_t>("axis"), attrs.get_or("exclusive", false), attrs.get_or("reverse", false)};
}

/// Returns index notation such as "a[n]b->a[n]b".
std::string along_axis(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  Letters letters;
  const std::string before = letters.next(axis);
  const std::string along = whole(letters.next());
  const std::string text = before + along + letters.next(facts.shape(0).rank() - axis - 1);
  return text + "->" + text;
}

Values cumsum_grad(GradCtx& g) {
  const auto [axis, exclusive, reverse] = running_of(g.attrs());
  return {cumsum(g.dout(), axis, exclusive, !reverse)};
}

// dx[i] is the sum over j >= i of dy[j] y[j] / x[i]. If x[i] is the first 0, the product without x[i] replaces y[j] /
// x[i]. After the first 0, every y is 0, and so is dx.
Values cumprod_grad(GradCtx& g) {
  const auto [axis, exclusive, reverse] = running_of(g.attrs());
  const Value x = g.in();
  const Value zero = equal(x, 0);
  const Value zeros_before = cumsum(cast(zero, DType::int32), axis, true, reverse);
  const Value first = logical_and(zero, equal(zeros_before, 0));
  const Value without = cumprod(select(first, 1, x), axis, exclusive, reverse);
  const Value of_first = cumsum(g.dout() * without, axis, exclusive, !reverse);
  const Value of_others = cumsum(g.dout() * g.out(), axis, exclusive, !reverse);
  return {select(first, of_first, of_others / select(zero, 1, x))};
}

constexpr AttrDef kAttrs[] = {{"axis", "int"}, {"exclusive", "bool", false}, {"reverse", "bool", false}};

constexpr OpDef kCumSum{
    .name = "CumSum", .types = "T->T", .attrs = kAttrs, .index_of = along_axis, .linear = 0b1, .grad = cumsum_grad};

constexpr OpDef kCumProd{
    .name = "CumProd", .types = "T->T", .attrs = kAttrs, .index_of = along_axis, .grad = cumprod_grad};

constexpr const OpDef* kCumulativeOps[] = {&kCumSum, &kCumProd};

Value run_along(const OpDef& def, const Value& x, const Running& how, const SourceLine& line) {
  Attrs attrs{{"axis", how.axis}};
  if (how.exclusive) attrs.set("exclusive", true);
  if (how.reverse) attrs.set("reverse", true);
  return make_one(def, {x}, line, std::move(attrs));
}

}  // namespace

Value cumsum(const Value& x, std::int64_t axis, bool exclusive, bool reverse, source_location at) {
  return run_along(kCumSum, x, {axis, exclusive, reverse}, at);
}

Value cumprod(const Value& x, std::int64_t axis, bool exclusive, bool reverse, source_location at) {
  return run_along(kCumProd, x, {axis, exclusive, reverse}, at);
}

std::span<const OpDef* const> cumulative_ops() {
  return kCumulativeOps;
}

}  // namespace ferry
