// The attributes of CheckRange: which integers are valid.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/scalar_math.hpp"
#include "kernels/shared/state.hpp"

namespace ferry {

/// The integers that are valid in the input of CheckRange.
struct RangeCheck {
  enum class Kind : std::uint8_t { position, label, length, image };

  Kind kind = Kind::position;
  std::int64_t size = 0;
  bool has_ignored = false;
  std::int64_t ignored = 0;

  [[nodiscard]] FERRY_HD bool is_valid(std::int64_t number) const {
    if (has_ignored && number == ignored) return true;
    return number >= 0 && (number < size || (number == size && kind == Kind::length));
  }
};

[[nodiscard]] inline std::unique_ptr<KernelState> prepare_range_check(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  const auto kind = attrs.get<std::string>("kind");
  RangeCheck check;
  if (kind == "label") check.kind = RangeCheck::Kind::label;
  if (kind == "length") check.kind = RangeCheck::Kind::length;
  if (kind == "image") check.kind = RangeCheck::Kind::image;
  check.size = attrs.get<std::int64_t>("size");
  check.has_ignored = attrs.find("ignored") != nullptr;
  check.ignored = attrs.get_or<std::int64_t>("ignored", 0);
  return keep(check);
}

}  // namespace ferry
