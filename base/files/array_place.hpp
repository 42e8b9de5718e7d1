// The place of an array in a file, for reading parts of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// The place of an array. All its elements are in the file, contiguous and in C order.
struct ArrayPlace {
  std::string dtype;  ///< NumPy's descr ("<f4") of npy and IDX files, safetensors' own name ("F32")
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  int reversed = 1;  ///< for big-endian elements the size of one in bytes, else 1: what reverse_items() takes
};

/// Reverses the bytes of each element.
inline void reverse_items(std::span<std::byte> bytes, int item) {
  const auto size = static_cast<std::size_t>(item);
  for (std::size_t at = 0; size > 1 && at + size <= bytes.size(); at += size)
    std::reverse(bytes.data() + at, bytes.data() + at + size);
}

}  // namespace ferry
#pragma GCC visibility pop
