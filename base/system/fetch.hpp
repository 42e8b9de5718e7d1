// Cache lines, and hints to fetch them into this core's first-level cache ahead of use. Any address may be given.
#pragma once

#include <cstdint>

namespace ferry {

inline constexpr std::int64_t kCacheLine = 64;  // bytes

inline void fetch_to_read(const void* at) noexcept {
  __builtin_prefetch(at, 0, 3);
}

/// By assembly on x86-64, where __builtin_prefetch would fetch for reading because not every processor has prefetchw;
/// processors without it ignore the instruction.
inline void fetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1, 3);
#endif
}

}  // namespace ferry
