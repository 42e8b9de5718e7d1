// The time of day, for people to read: nothing waits by it or compares it, since it may jump.
#pragma once

#pragma GCC visibility push(default)
namespace ferry {

/// Seconds since the beginning of 1970, UTC. Thread-safe.
[[nodiscard]] double wall_seconds();

}  // namespace ferry
#pragma GCC visibility pop
