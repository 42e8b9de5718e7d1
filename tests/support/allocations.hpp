// Counts allocations by operator new, for tests that code allocates nothing or not too much; and can make one fail.
#pragma once

#include <cstdint>

namespace ferry::test {

/// Calls of operator new by all threads so far. Link tests/support/allocations.cpp.
[[nodiscard]] std::int64_t allocations();
/// Bytes that these calls asked for, including those that have been freed since.
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
