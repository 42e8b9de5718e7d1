#include "ops/math/quantize.hpp"

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {

Value quantize(const Value& x, const Value& scale, const Value& zero, DType dtype, source_location at) {
  const Scope here = derived(graph_of({{x, scale}}, at), at);
  if (!is_integer(dtype))
    throw Error(Code::plan, "quantize: " + std::string(name_of(dtype)) + " is not a dtype of integers").at(at);
  const DType wide = is_half(x.dtype()) ? DType::float32 : x.dtype();  // 16 bits do not hold every step
  Value steps = round(cast(x, wide) / cast(scale, promoted(wide, scale.dtype())));
  if (zero.defined()) steps = steps + cast(zero, steps.dtype());
  return cast(steps, dtype);
}

Value dequantize(const Value& q, const Value& scale, const Value& zero, source_location at) {
  const Scope here = derived(graph_of({{q, scale}}, at), at);
  return in_float32({scale}, at, [&](const Values& v) {
    Value steps = cast(q, v[0].dtype());
    if (zero.defined()) steps = steps - cast(zero, v[0].dtype());
    return steps * v[0];
  });
}

Quantized dynamic_quantize(const Value& x, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  const Value high = maximum(max(x), 0);
  const Value low = minimum(min(x), 0);
  const Value range = high - low;
  const Value scale = select(equal(range, 0), 1, range) / 255;
  const Value zero = cast(round(minimum(maximum(-low / scale, 0), 255)), DType::uint8);
  return {quantize(x, scale, zero, DType::uint8), scale, zero};
}

}  // namespace ferry
