// Divisions that are several times as fast on a GPU as divisions of 64-bit integers.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

struct Quotient {
  std::int64_t whole, rest;
};
/// a / b and a % b for numbers that are not negative. Fast if both numbers fit 32 bits.
FERRY_DEVICE inline Quotient divided(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) != 0) return {a / b, a % b};
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  return {x / y, x % y};
}

/// Divides numbers below 2^31 by a fixed divisor from 1 to 2^31. It multiplies by a factor that the constructor
/// computes on the host, because many threads divide by the same divisor.
class Divider {
 public:
  Divider() = default;
  constexpr explicit Divider(std::uint32_t divisor) : divisor_(divisor) {
    while ((std::uint64_t{1} << shift_) < divisor) ++shift_;
    factor_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - divisor) << 32) / divisor + 1);
  }
  [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * factor_) >> 32);
    return (high + n) >> shift_;
  }
  [[nodiscard]] constexpr std::uint32_t remainder(std::uint32_t n, std::uint32_t quotient) const {
    return n - quotient * divisor_;
  }

 private:
  std::uint32_t divisor_ = 1, factor_ = 1, shift_ = 0;
};

}  // namespace ferry::cuda
