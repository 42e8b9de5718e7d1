// EventCount: how threads sleep until another thread has done something, without locks where nobody sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry {

/// A count that goes up with every notify(). To wait for a condition without missing its change, read the count first:
///
///     for (;;) {
///       const auto seen = events.now();
///       if (condition()) break;
///       events.wait(seen, at_most);
///     }
///
/// Thread-safe. notify() costs one atomic addition while nobody sleeps; what was written before it is seen by a thread
/// that returns from wait() because of it.
class EventCount {
 public:
  [[nodiscard]] std::uint32_t now() const noexcept { return count_.load(std::memory_order_acquire); }
  void notify() noexcept;
  /// Returns when the count is no longer `seen`, or `at_most` has passed: spins for about 2 µs, then sleeps.
  void wait(std::uint32_t seen, std::chrono::microseconds at_most) noexcept;

 private:
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// Tells the processor that this thread spins.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace ferry
