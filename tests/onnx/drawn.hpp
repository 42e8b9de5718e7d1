// Pseudorandom numbers that are the same in tests and in scripts (drawn.py): weights and images for models without
// data.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry {

/// Element i of stream s is 2 * (splitmix64(s, i) >> 40) / 2^24 - 1, times `scale`: float32.
inline Tensor drawn(std::uint64_t stream, std::vector<std::int64_t> sizes, double scale) {
  Tensor tensor(DType::float32, std::move(sizes));
  std::uint64_t state = stream * 0xD1342543DE82EF95U;
  for (float& element : tensor.mutable_data<float>()) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    element = static_cast<float>((2 * (static_cast<double>(z >> 40) * 0x1p-24) - 1) * scale);
  }
  return tensor;
}

}  // namespace ferry
