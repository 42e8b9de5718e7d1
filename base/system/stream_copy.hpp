// Copying to memory that another core reads next.
#pragma once

#include <cstddef>

namespace ferry {

/// From so many bytes on a value that another core reads next is best written around the caches. On AMD's processors
/// nearly always where that core is `far`, which shares no cache with this one: there a line that is in memory is read
/// faster than one that is dirty in the other core's cache, and its old content need not be fetched to be overwritten.
/// Else only what is beyond the caches anyway.
[[nodiscard]] std::size_t stream_from(bool far) noexcept;
/// As memcpy, around the caches (non-temporal stores) but for the shortest. Before another core is told of it, this
/// thread calls stream_fence().
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// The same for whole lines of the caches (kCacheLine) at a target that begins with one, however few.
void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// By stream_copy(), or through the caches.
void copy_for_reader(std::byte* target, const std::byte* source, std::size_t bytes, bool around) noexcept;
/// What follows it in the program is seen by others after what this thread has copied before.
void stream_fence() noexcept;

}  // namespace ferry
