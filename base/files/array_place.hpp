// Where an array lies in a file, so that parts of it can be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ferry {

/// The elements lie together from `begin` on, in C order; the file has them all.
struct ArrayPlace {
  std::string dtype;  ///< in the words of the format
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  int reversed = 1;  ///< bytes of an element where they come in reversed order (big-endian), else 1
};

/// Turns the bytes of each element around; nothing for elements of one byte.
inline void reverse_items(std::span<std::byte> bytes, int item) {
  const auto size = static_cast<std::size_t>(item);
  for (std::size_t at = 0; size > 1 && at + size <= bytes.size(); at += size)
    std::reverse(bytes.data() + at, bytes.data() + at + size);
}

}  // namespace ferry
