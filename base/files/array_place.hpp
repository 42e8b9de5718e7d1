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
  std::string dtype;  ///< NumPy's descr ("<f4") for npy and IDX files, the format's own name ("F32") for safetensors
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  /// The argument `item` of reverse_items(): the element size in bytes if elements are big-endian, else 1.
  int reversed = 1;
};

/// Reverses the bytes of each element of `item` bytes; does nothing if `item` is 1.
inline void reverse_items(std::span<std::byte> bytes, int item) {
  const auto size = static_cast<std::size_t>(item);
  for (std::size_t at = 0; size > 1 && at + size <= bytes.size(); at += size)
    std::reverse(bytes.data() + at, bytes.data() + at + size);
}

}  // namespace ferry
#pragma GCC visibility pop
