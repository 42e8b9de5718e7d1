// Random bytes for secrets.
#pragma once

#include <cstddef>
#include <span>

#pragma GCC visibility push(default)
namespace ferry {

/// Fills `bytes` with random ones of the system, or of the processor where the system's are forbidden, which nobody can
/// guess. Error(resource) where there are none. Thread-safe.
void fill_at_random(std::span<std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop
