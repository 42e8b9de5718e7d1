// Random bytes for secrets.
#pragma once

#include <cstddef>
#include <span>

#pragma GCC visibility push(default)
namespace ferry {

/// Fills `bytes` with random bytes that nobody can guess. They come from the system, or from the processor if a sandbox
/// forbids the system's. Error(resource) if there is no source. Thread-safe.
void fill_at_random(std::span<std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop
