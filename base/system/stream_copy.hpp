// Copying to memory that another core reads next.
#pragma once

#include <cstddef>

namespace ferry {

/// The number of bytes from which on a value that another core reads next is best written around the caches. It is
/// small on AMD's processors where that core is `far`, which means that it shares no cache with this one: there a line
/// in memory is read faster than one that is dirty in another core's cache, and its old content need not be fetched to
/// be overwritten. Elsewhere only values that exceed the caches are worth it.
[[nodiscard]] std::size_t stream_from(bool far) noexcept;
/// Copies as memcpy does, but around the caches (non-temporal stores) unless it is short. Call stream_fence() before
/// another core is told of it.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// The same for whole cache lines (kCacheLine), however few; `target` is aligned to one.
void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// Copies by stream_copy() if `around`, else through the caches.
void copy_for_reader(std::byte* target, const std::byte* source, std::size_t bytes, bool around) noexcept;
/// Other threads see what this thread has copied before whatever it stores after this call.
void stream_fence() noexcept;

}  // namespace ferry
