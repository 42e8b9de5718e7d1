// Counts what is allocated by operator new, for tests that nothing is, or not too much.
#pragma once

#include <cstdint>

namespace ferry::test {

/// Calls of operator new by all threads so far. Link tests/support/allocations.cpp.
[[nodiscard]] std::int64_t allocations();
/// Bytes that they asked for; what was given back counts, too.
[[nodiscard]] std::int64_t allocated_bytes();

}  // namespace ferry::test
