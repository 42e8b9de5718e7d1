// The lines of the caches, and fetching them into this core's first one before they are needed: hints, for any address.
#pragma once

#include <cstdint>

namespace ferry {

inline constexpr std::int64_t kCacheLine = 64;  // bytes

inline void fetch_to_read(const void* at) noexcept {
  __builtin_prefetch(at, 0, 3);
}

/// The compiler's own becomes a fetch for reading, since not every x86-64 has this one (those skip it).
inline void fetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1, 3);
#endif
}

}  // namespace ferry
