// The place of an array in a file, so that parts of it can be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ferry {

/// The elements are contiguous from `begin` on, in C order, and all in the file.
struct ArrayPlace {
  std::string dtype;  ///< NumPy's descr ("<f4") of npy and IDX files, safetensors' own name ("F32")
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  int reversed = 1;  ///< bytes of an element where these are in reversed order (big-endian), else 1
};

/// Reverses the bytes of each element.
inline void reverse_items(std::span<std::byte> bytes, int item) {
  const auto size = static_cast<std::size_t>(item);
  for (std::size_t at = 0; size > 1 && at + size <= bytes.size(); at += size)
    std::reverse(bytes.data() + at, bytes.data() + at + size);
}

}  // namespace ferry
