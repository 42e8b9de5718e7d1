// Copying to memory that another core reads next.
#pragma once

#include <cstddef>

namespace ferry::shm {

/// As memcpy. Long ones go around the caches (non-temporal stores): between cores a line that is in memory is read
/// faster than one that is dirty in the other's cache, and its old content need not be fetched to be overwritten.
/// What follows it in the program is seen by others after it.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;

}  // namespace ferry::shm
