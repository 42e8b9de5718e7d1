// Reductions.
#include "ops/reduce.hpp"

#include <limits>

#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

struct Reduction {
  Ints axes;
  bool keep = true;
  bool none = false;  ///< no axes were given, and that means: over none
};

Reduction reduction(Context& c) {
  const Ints axes = c.ints_of(1, "axes").value_or(Ints());
  return {axes, c.integer("keepdims", 1) != 0, axes.empty() && c.integer("noop_with_empty_axes", 0) != 0};
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

Outs to_l1(Context& c) {
  const Reduction r = reduction(c);
  return reduced(sum, abs(c.in(0)), r);
}

/// Of integers in float64, truncated.
Outs to_l2(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  const Value within = is_float(x.dtype()) ? x : cast(x, DType::float64);
  return cast(sqrt(reduced(sum, square(within), r)), x.dtype());
}

Outs to_sum_square(Context& c) {
  const Reduction r = reduction(c);
  return reduced(sum, square(c.in(0)), r);
}

Outs to_log_sum(Context& c) {
  const Reduction r = reduction(c);
  return log(reduced(sum, c.in(0), r));
}

/// From x - max(x), which cannot overflow.
Outs to_log_sum_exp(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  if (r.none || x.rank() == 0) return identity(x);
  const Value most = max(x, r.axes, true);
  const Value centred = x - select(equal(abs(most), std::numeric_limits<double>::infinity()), 0, most);
  const Value total = log(sum(exp(centred), r.axes, r.keep));
  const Value offset = r.keep ? most : max(x, r.axes, false);
  return total + offset;
}

/// Over integers too: the quotient is truncated.
Outs to_mean(Context& c) {
  const Reduction r = reduction(c);
  const Value x = c.in(0);
  const Value within = is_float(x.dtype()) ? x : cast(x, DType::float64);
  return cast(reduced(mean, within, r), x.dtype());
}

Outs to_arg_max(Context& c) {
  const Value x = c.in(0);
  if (c.integer("select_last_index", 0) != 0) Context::fail("select_last_index is not imported");
  const std::int64_t axis = c.axis(0, c.integer("axis", 0));
  const Value index = argmax(x, axis);
  return c.integer("keepdims", 1) != 0 ? expand_dims(index, {axis}) : index;
}

constexpr Converter kReduce[] = {
    {"ArgMax", 1, to_arg_max},
    {"ReduceL1", 1, to_l1},
    {"ReduceL2", 1, to_l2},
    {"ReduceLogSum", 1, to_log_sum},
    {"ReduceLogSumExp", 1, to_log_sum_exp},
    {"ReduceMax", 1, plain<max>},
    {"ReduceMean", 1, to_mean},
    {"ReduceMin", 1, plain<min>},
    {"ReduceSum", 1, plain<sum>},
    {"ReduceSumSquare", 1, to_sum_square},
};

}  // namespace

std::span<const Converter> reduce_converters() {
  return kReduce;
}

}  // namespace ferry::onnx
