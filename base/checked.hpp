// Overflow-checked arithmetic, for numbers that are read from files.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace ferry {

/// a · b, or nothing if the product overflows.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b ? std::nullopt : std::optional(a * b);
}

/// The number of bytes of a dense tensor; nothing if a size is negative, or if the product of the non-zero sizes and
/// `item_bytes` exceeds 2⁶³-1. The limit holds for empty tensors too, so that strides computed from the shape cannot
/// overflow.
[[nodiscard]] constexpr std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape,
                                                                  std::uint64_t item_bytes) {
  bool empty = false;
  std::optional<std::uint64_t> bytes = item_bytes;
  for (std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    bytes = size == 0 ? bytes : checked_mul(*bytes, static_cast<std::uint64_t>(size));
    if (!bytes || *bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

}  // namespace ferry
