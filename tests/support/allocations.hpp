// Counts what is allocated by operator new, for tests that nothing is, or not too much; and refuses some of it.
#pragma once

#include <cstdint>

namespace ferry::test {

/// Calls of operator new by all threads so far. Link tests/support/allocations.cpp.
[[nodiscard]] std::int64_t allocations();
/// Bytes that they asked for; what was given back counts, too.
[[nodiscard]] std::int64_t allocated_bytes();

/// While it lives, the `nth` call of operator new on the calling thread from now on throws std::bad_alloc.
class NoMemoryAt {
 public:
  explicit NoMemoryAt(std::int64_t nth);
  ~NoMemoryAt();
  NoMemoryAt(const NoMemoryAt&) = delete;
  NoMemoryAt& operator=(const NoMemoryAt&) = delete;
  /// Whether it has thrown.
  [[nodiscard]] bool thrown() const;
};

}  // namespace ferry::test
