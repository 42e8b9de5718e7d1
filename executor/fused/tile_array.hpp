// TileArray: an array of a tile region.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace ferry {

/// An input or output of a kernel of a tile region.
struct TileArray {
  static constexpr std::uint64_t kInMemory = UINT64_MAX;
  Array array;
  std::byte* home = nullptr;       ///< its buffer's address; null if it is in a slot
  std::uint64_t slot = kInMemory;  ///< offset of its slot in the thread's kSlotBytes; kInMemory: it has a buffer
  std::int64_t row = 1;            ///< in a slot: number of elements of the region per element of this array
};

}  // namespace ferry
