// Cache lines: hints that fetch them ahead of use, and copies to memory that another core reads next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry {

inline constexpr std::int64_t kCacheLine = 64;  // bytes

/// Fetches a line into this core's first-level cache ahead of use. Any address may be given.
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

/// From how many bytes on a value that another core reads next is best written past the caches (with non-temporal
/// stores). Few if the processor is AMD's and that core is `far`, that is, shares no cache with this one. There a line
/// in memory is read faster than a line that is dirty in another core's cache, and its old content need not be fetched
/// before it is overwritten. Else only values that exceed the caches are worth it.
[[nodiscard]] std::size_t stream_from(bool far) noexcept;
/// Copies as memcpy does, but with non-temporal stores unless it is short. Call stream_fence() before another core is
/// told of the copy.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// The same for whole cache lines (kCacheLine), however few; `target` must be aligned to a line.
void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// Copies by stream_copy() if `around` the caches, else by memcpy.
void copy_for_reader(std::byte* target, const std::byte* source, std::size_t bytes, bool around) noexcept;
/// Orders this thread's copies before all that it stores after this call, as other threads see it.
void stream_fence() noexcept;

}  // namespace ferry
