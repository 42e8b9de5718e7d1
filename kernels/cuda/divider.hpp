// Division by a number that many threads divide by: a product instead, several times as fast on a GPU.
#pragma once

#include <cstdint>

namespace ferry::cuda {

/// Divides numbers below 2^31 by one from 1 to 2^31.
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
