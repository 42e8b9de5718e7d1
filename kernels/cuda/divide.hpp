// Division of numbers that mostly fit 32 bits, which is several times as fast then.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

struct Quotient {
  std::int64_t whole, rest;
};
/// a / b and a % b of numbers that are not negative.
FERRY_DEVICE inline Quotient divided(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) != 0) return {a / b, a % b};
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  return {x / y, x % y};
}

}  // namespace ferry::cuda
