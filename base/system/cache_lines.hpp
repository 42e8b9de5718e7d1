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

/// Fetches a line for a later write. On x86-64 it uses assembly: __builtin_prefetch would fetch for reading there,
/// because not every processor has prefetchw. Processors without prefetchw ignore the instruction.
inline void fetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1, 3);
#endif
}

/// The size in bytes from which a value that another core reads next is best written past the caches (with non-temporal
/// stores). It is small if the processor is AMD's and the other core is `far`, that is, shares no cache with this core.
/// Such processors read a line from memory faster than a line that is dirty in another core's cache. Also, the writer
/// need not fetch the old content of the line. On other processors, or near cores, streaming pays only for values
/// larger than the caches.
[[nodiscard]] std::size_t stream_from(bool far) noexcept;
/// Copies like memcpy, but with non-temporal stores unless the copy is short. Call stream_fence() before you signal the
/// copy to another core.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// Like stream_copy(), for any number of whole cache lines (`bytes` is a multiple of kCacheLine). `target` must be
/// aligned to a line.
void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// Copies by stream_copy() (around the caches) if `stream` is true, else by memcpy.
void copy_for_reader(std::byte* target, const std::byte* source, std::size_t bytes, bool stream) noexcept;
/// Makes other threads see this thread's streamed copies before its later stores.
void stream_fence() noexcept;

}  // namespace ferry
