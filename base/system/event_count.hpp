// EventCount: lets threads sleep until another thread has done something; it takes no lock.
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
/// Thread-safe. notify() costs one atomic addition and one load while nobody sleeps. What was written before it is
/// visible to a thread that sees the new count.
class EventCount {
 public:
  [[nodiscard]] std::uint32_t now() const noexcept { return count_.load(std::memory_order_acquire); }
  void notify() noexcept;
  /// Spins for a few µs, then sleeps. Returns when the count is no longer `seen`, when `at_most` has passed, or now and
  /// then for no reason.
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
