// The distributions of random ops, written once for the CPU and CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/philox.hpp"

namespace ferry {

/// The parameters of an op's distribution: `first` and `second` are low and high, or mean and standard deviation.
struct Draw {
  std::uint64_t key;
  double first, second;
};

/// Uniform numbers from one block of random bits: four floats or two doubles.
struct Uniform {
  FERRY_HD static void numbers(const Philox::Block& bits, const Draw& draw, float (&out)[4]) {
    const auto low = static_cast<float>(draw.first);
    const auto high = static_cast<float>(draw.second);
    for (std::size_t i = 0; i < 4; ++i) out[i] = within(low + unit_float(bits[i]) * (high - low), low, high);
  }
  FERRY_HD static void numbers(const Philox::Block& bits, const Draw& draw, double (&out)[2]) {
    for (std::size_t i = 0; i < 2; ++i)
      out[i] = within(draw.first + unit_double(bits[2 * i], bits[2 * i + 1]) * (draw.second - draw.first), draw.first,
                      draw.second);
  }
  /// Excludes `high`, which rounding may have given but which does not belong to the range.
  template <class T>
  FERRY_HD static T within(T x, T low, T high) {
    return x < high ? x : low;
  }
};

struct Normal {
  FERRY_HD static void numbers(const Philox::Block& bits, const Draw& draw, float (&out)[4]) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const auto [a, b] = math::box_muller(bits[i] * 0x1p-32, bits[i + 1] * 0x1p-32);
      out[i] = static_cast<float>(draw.first + draw.second * a);
      out[i + 1] = static_cast<float>(draw.first + draw.second * b);
    }
  }
  FERRY_HD static void numbers(const Philox::Block& bits, const Draw& draw, double (&out)[2]) {
    const auto [a, b] = math::box_muller(unit_double(bits[0], bits[1]), unit_double(bits[2], bits[3]));
    out[0] = draw.first + draw.second * a;
    out[1] = draw.first + draw.second * b;
  }
};

}  // namespace ferry
