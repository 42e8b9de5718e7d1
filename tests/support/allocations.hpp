// Counts what is allocated by operator new, for tests that nothing is.
#pragma once

#include <cstdint>

namespace ferry::test {

/// Calls of operator new by all threads so far. Link tests/support/allocations.cpp.
[[nodiscard]] std::int64_t allocations();

}  // namespace ferry::test
