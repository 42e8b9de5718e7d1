#include "runner/command/tensor_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/number_text.hpp"

namespace ferry {

std::string difference(const Tensor& result, const Tensor& expected, const Tolerance& tolerance) {
  if (result.type() != expected.type()) return "it is " + result.type().str() + ", not " + expected.type().str();
  const DType dtype = result.dtype();
  const double unit = dtype == DType::bfloat16 ? 0x1p-7 : dtype == DType::float16 ? 0x1p-10 : 0;
  const double rtol = std::max(tolerance.rtol, 2 * unit);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const auto fail = [&](const std::string& got, const std::string& wanted) {
      return "element " + std::to_string(i) + " is " + got + ", not " + wanted;
    };
    if (!is_float(result.dtype())) {
      const std::int64_t got = result.integer(i), wanted = expected.integer(i);
      if (got != wanted) return fail(std::to_string(got), std::to_string(wanted));
      continue;
    }
    const double got = result.number(i), wanted = expected.number(i);
    if (got == wanted || (std::isnan(got) && std::isnan(wanted))) continue;
    const bool near = std::abs(got - wanted) <= tolerance.atol + rtol * std::abs(wanted);
    if (!near || std::isinf(wanted)) return fail(decimals_text(got, 6), decimals_text(wanted, 6));
  }
  return {};
}

}  // namespace ferry
