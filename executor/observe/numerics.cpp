#include "executor/observe/numerics.hpp"

#include <cstring>

namespace ferry {
namespace {

/// Counts by IEEE 754: a number is not finite if all bits of the exponent are set, and NaN if bits of the fraction are,
/// too.
template <class Word>
NotFinite count(std::span<const std::byte> bytes, Word exponent, Word fraction) {
  NotFinite found;
  found.elements = static_cast<std::int64_t>(bytes.size() / sizeof(Word));
  for (std::int64_t i = 0; i < found.elements; ++i) {
    Word word;
    std::memcpy(&word, bytes.data() + static_cast<std::size_t>(i) * sizeof word, sizeof word);
    if ((word & exponent) != exponent) continue;
    ++((word & fraction) != 0 ? found.nans : found.infinities);
    if (found.first < 0) found.first = i;
  }
  return found;
}

}  // namespace

NotFinite not_finite(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::float64:
      return count<std::uint64_t>(bytes, 0x7ff0000000000000U, 0x000fffffffffffffU);
    case DType::float32:
      return count<std::uint32_t>(bytes, 0x7f800000U, 0x007fffffU);
    case DType::float16:
      return count<std::uint16_t>(bytes, 0x7c00U, 0x03ffU);
    case DType::bfloat16:
      return count<std::uint16_t>(bytes, 0x7f80U, 0x007fU);
    default:
      return {};
  }
}

std::string fault_text(const NonFiniteInputs& given, const NotFinite& result) {
  const bool nan = result.nans > 0 && !given.nan;
  const bool infinite = result.infinities > 0 && !given.nan && !given.infinite;
  if (!nan && !infinite) return {};
  return std::string(nan ? "NaN" : "Inf") + " in " + std::to_string(nan ? result.nans : result.infinities) + " of " +
         std::to_string(result.elements) + " elements, the first not finite at " + std::to_string(result.first);
}

}  // namespace ferry
