// Event: sleeping until a condition over atomics holds, at no cost to those who make it true while nobody sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry {

/// An event count. Who waits:
///
///     const auto key = event.prepare();
///     if (condition()) event.cancel(); else event.sleep(key, timeout);
///
/// Who makes the condition true stores it, then calls notify(). Both the stores and the loads of the condition must be
/// sequentially consistent; then no notification is lost: either the waiter sees the condition, or the notifier sees
/// the waiter. All functions may be called from any thread.
class Event {
 public:
  [[nodiscard]] std::uint32_t prepare() {
    sleepers_.fetch_add(1);
    return epoch_.load();
  }
  void cancel() { sleepers_.fetch_sub(1); }
  /// Returns after a notify() that came since prepare(), after `at_most`, or spuriously.
  void sleep(std::uint32_t key, std::chrono::nanoseconds at_most);
  void notify() {
    if (sleepers_.load() != 0) wake();
  }

 private:
  void wake();

  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// Tells the core that this is a spin loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace ferry
