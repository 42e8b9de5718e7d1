// Copying to memory that another core reads next.
#pragma once

#include <cstddef>

namespace ferry {

/// As memcpy. Long ones go around the caches (non-temporal stores): between cores a line that is in memory is read
/// faster than one that is dirty in the other's cache, and its old content need not be fetched to be overwritten.
/// Before another core is told of it, this thread calls stream_fence().
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;
/// What follows it in the program is seen by others after what this thread has copied before.
void stream_fence() noexcept;

}  // namespace ferry
