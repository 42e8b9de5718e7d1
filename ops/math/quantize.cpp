#include "ops/math/quantize.hpp"

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

void check_float(std::string_view what, const Value& v, const SourceLine& line) {
  if (is_float(v.dtype())) return;
  throw Error(Code::plan,
              std::string(what) + ": " + v.name() + " must be floating-point, not " + std::string(name_of(v.dtype())))
      .at(line);
}

void check_zero(std::string_view what, const Value& zero, DType dtype, const SourceLine& line) {
  if (!zero.defined() || zero.dtype() == dtype) return;
  throw Error(Code::plan, std::string(what) + ": the zero point " + zero.name() + " must be " +
                              std::string(name_of(dtype)) + " like the quantized numbers, not " +
                              std::string(name_of(zero.dtype())))
      .at(line);
}

}  // namespace

Value quantize(const Value& x, const Value& scale, const Value& zero, DType dtype, source_location at) {
  const Scope here = caller_scope(graph_of({{x, scale}}, at), at);
  if (!is_integer(dtype))
    throw Error(Code::plan, "quantize: " + std::string(name_of(dtype)) + " is not a dtype of integers").at(at);
  check_float("quantize", x, at);
  check_float("quantize", scale, at);
  check_zero("quantize", zero, dtype, at);
  const DType wide = is_half(x.dtype()) ? DType::float32 : x.dtype();  // 16 bits cannot represent every step
  Value steps = round(cast(x, wide) / cast(scale, promoted(wide, scale.dtype())));
  // float64 represents the sums of 32-bit integers.
  if (size_of(dtype) >= 4 && zero.defined()) steps = cast(steps, DType::float64);
  if (zero.defined()) steps = steps + cast(zero, steps.dtype());
  return cast(steps, dtype);
}

Value dequantize(const Value& q, const Value& scale, const Value& zero, source_location at) {
  const Scope here = caller_scope(graph_of({{q, scale}}, at), at);
  if (!is_integer(q.dtype()))
    throw Error(Code::plan, "dequantize: " + q.name() + " must have integers, not " + std::string(name_of(q.dtype())))
        .at(at);
  check_float("dequantize", scale, at);
  check_zero("dequantize", zero, q.dtype(), at);
  return in_float32({scale}, at, [&](const Values& v) {
    Value steps = cast(q, v[0].dtype());
    if (zero.defined()) steps = steps - cast(zero, v[0].dtype());
    return steps * v[0];
  });
}

Quantized dynamic_quantize(const Value& x, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_float("dynamic_quantize", x, at);
  const Value high = maximum(max(x), 0);
  const Value low = minimum(min(x), 0);
  const Value range = high - low;
  const Value scale = select(equal(range, 0), 1, range) / 255;
  const Value zero = cast(round(minimum(maximum(-low / scale, 0), 255)), DType::uint8);
  return {quantize(x, scale, zero, DType::uint8), scale, zero};
}

}  // namespace ferry
