// EventCount: lets threads sleep until another thread has done something; it takes no lock. Also its parts: futexes,
// and a fence that only one of two threads pays for.
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
/// Thread-safe. notify() costs one atomic addition and one load while nobody sleeps. Data written before notify() is
/// visible to a thread that sees the new count.
class EventCount {
 public:
  [[nodiscard]] std::uint32_t now() const noexcept { return count_.load(std::memory_order_acquire); }
  void notify() noexcept;
  /// Spins for a few µs, then sleeps. Returns when the count is no longer `seen`, when `at_most` has passed, or
  /// spuriously.
  void wait(std::uint32_t seen, std::chrono::microseconds at_most) noexcept;

 private:
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// A fence that is cheap on one side. Call light() in the thread that often writes a value and then checks whether
/// another thread sleeps. Call heavy() in the thread that is about to sleep and checks once more:
///
///     written.store(1);                 sleepers.store(1);
///     fence.light();                    fence.heavy();
///     if (sleepers.load()) wake();      if (!written.load()) sleep();
///
/// At least one of the two sees what the other wrote. If the kernel has membarrier(), light() only stops the compiler
/// from reordering, and heavy() is a system call; else both are full fences. Works between threads of one process only.
/// Thread-safe.
class AsymmetricFence {
 public:
  AsymmetricFence() noexcept;
  void light() const noexcept {
    if (free_)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void heavy() const noexcept;

 private:
  const bool free_;
};

/// The threads that may sleep on a word: only threads of this process, which costs less, or threads of all processes
/// that share its memory.
enum class Sleepers { of_this_process, of_all_processes };

/// If `word` is `value`, sleeps until another thread wakes it, at most for `at_most` and at most one hour. May return
/// spuriously. Thread-safe.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::microseconds at_most,
                Sleepers sleepers) noexcept;

/// Wakes one thread that sleeps on `word`, or all. Thread-safe.
void futex_wake_one(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept;

/// Tells the processor that this thread spins.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace ferry
