// Converters of reductions and cumulative ops.
#include "ops/math/reduce.hpp"

#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

struct Reduction {
  Ints axes;
  bool keep = true;
  bool none = false;  ///< there are no axes, and noop_with_empty_axes means no reduction then
};

Reduction reduction(Context& c) {
  const Ints axes = c.ints_of(1, "axes").value_or(Ints());
  const bool none = c.integer("noop_with_empty_axes", 0) != 0;
  return {axes, c.integer("keepdims", 1) != 0, axes.empty() && none};
}

using Reduce = Value (*)(const Value&, Ints, bool, source_location);

Value reduced(Reduce reduce, const Value& x, const Reduction& r) {
  return r.none || x.rank() == 0 ? identity(x) : reduce(x, r.axes, r.keep, source_location::current());
}

template <Reduce f>
Outs plain(Context& c) {
  const Reduction r = reduction(c);
  return reduced(f, c.in(0), r);
}

/// ReduceMax and ReduceMin. They also take bools: whether any element is true, or whether all are.
template <Reduce f>
Outs best_of(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  if (x.dtype() != DType::boolean) return reduced(f, x, r);
  return cast(reduced(f, cast(x, DType::uint8), r), DType::boolean);
}

Outs to_l1(Context& c) {
  const Reduction r = reduction(c);
  return reduced(sum, abs(c.in(0)), r);
}

/// f(the sum of terms(input 0)). Integers are added in 64 bits, as in ONNX's definition, so a sum beyond 2^53 is exact.
/// Then f is computed in float64, and the result is truncated.
template <class Terms, class F>
Value of_sum(Context& c, const Terms& terms, const F& f) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  if (is_float(x.dtype())) return f(reduced(sum, terms(x), r));
  const bool natural = x.dtype() == DType::uint32 || x.dtype() == DType::uint64;
  const Value wide = cast(x, natural ? DType::uint64 : DType::int64);
  return cast(f(cast(reduced(sum, terms(wide), r), DType::float64)), x.dtype());
}

Outs to_l2(Context& c) {
  return of_sum(
      c, [](const Value& x) { return square(x); }, [](const Value& x) { return sqrt(x); });
}

Outs to_sum_square(Context& c) {
  const Reduction r = reduction(c);
  return reduced(sum, square(c.in(0)), r);
}

Outs to_log_sum(Context& c) {
  return of_sum(
      c, [](const Value& x) { return x; }, [](const Value& x) { return log(x); });
}

/// Integers are computed in float64, and the result is truncated.
Outs to_log_sum_exp(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  return cast(reduced(log_sum_exp, is_float(x.dtype()) ? x : cast(x, DType::float64), r), x.dtype());
}

/// The exact means of integers, rounded toward zero. They are computed from the quotients and remainders of the
/// elements by their number, so that no sum overflows. The mean of no elements is 0.
Value mean_of_integers(const Value& x, const Reduction& r) {
  const Value count = maximum(size_of(x, r.axes, x.dtype()), 1);
  const Value quotients = x / count;
  const Value remainders = x - quotients * count;
  const Value sum_of_remainders = reduced(sum, remainders, r);
  const Value carry = sum_of_remainders / count;
  const Value whole = reduced(sum, quotients, r) + carry;
  if (x.dtype() == DType::uint64) return whole;
  // The mean is whole + left / count. If both have different signs, rounding toward zero takes a step of 1.
  const Value left = sum_of_remainders - carry * count;
  const Value negative = less(whole, 0), too_low = greater(left, 0);
  const Value positive = greater(whole, 0), too_high = less(left, 0);
  const Value below = logical_and(negative, too_low);
  const Value above = logical_and(positive, too_high);
  const Value up = whole + cast(below, x.dtype());
  return up - cast(above, x.dtype());
}

/// ReduceMean. It also takes integers; their quotient is truncated.
Outs to_mean(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  if (is_float(x.dtype())) return reduced(mean, x, r);
  if (r.none || x.rank() == 0) return identity(x);
  const DType wide = x.dtype() == DType::uint64 ? DType::uint64 : DType::int64;
  return cast(mean_of_integers(cast(x, wide), r), x.dtype());
}

using ArgBest = Value (*)(const Value&, std::int64_t, bool, source_location);

template <ArgBest f>
Outs index_of_best(Context& c) {
  const Value x = c.in(0);
  const std::int64_t axis = c.axis(0, c.integer("axis", 0));
  const Value index = f(x, axis, c.integer("select_last_index", 0) != 0, source_location::current());
  return c.integer("keepdims", 1) != 0 ? expand_dims(index, {axis}) : index;
}

using Running = Value (*)(const Value&, std::int64_t, bool, bool, source_location);

template <Running f>
Outs cumulative(Context& c) {
  const Ints axis = c.ints(1);
  if (axis.size() != 1) Context::fail("its axis is not one number");
  return f(c.in(0), c.axis(0, axis[0]), c.integer("exclusive", 0) != 0, c.integer("reverse", 0) != 0,
           source_location::current());
}

constexpr ConvertOp kReduce[] = {
    {"ArgMax", 1, index_of_best<argmax>},
    {"ArgMin", 1, index_of_best<argmin>},
    {"CumProd", 26, cumulative<cumprod>},
    {"CumSum", 11, cumulative<cumsum>},
    {"ReduceL1", 1, to_l1},
    {"ReduceL2", 1, to_l2},
    {"ReduceLogSum", 1, to_log_sum},
    {"ReduceLogSumExp", 1, to_log_sum_exp},
    {"ReduceMax", 1, best_of<max>},
    {"ReduceMean", 1, to_mean},
    {"ReduceMin", 1, best_of<min>},
    {"ReduceProd", 1, plain<prod>},
    {"ReduceSum", 1, plain<sum>},
    {"ReduceSumSquare", 1, to_sum_square},
};

}  // namespace

std::span<const ConvertOp> reduce_converters() {
  return kReduce;
}

}  // namespace ferry::onnx
