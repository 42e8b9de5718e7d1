// Doorbell: how a task sleeps until another process has written something for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry::shm {

/// Lies in the sleeper's segment. To wait for something that others write:
///
///     bell.lie_down(fenced);
///     if (!something_came()) bell.sleep(at_most);
///     bell.get_up();
///
/// and who writes it rings afterwards. One sleeper; any number of ringers. Zeroed memory is a fresh one.
class alignas(64) Doorbell {
 public:
  /// Lets this process's threads be reached by other sleepers' barriers, so that ringing needs no fence of its own:
  /// false where the system has no membarrier().
  [[nodiscard]] static bool register_process();

  /// After writing. `fenced`: not every process could register.
  void ring(bool fenced) noexcept {
    if (fenced)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (down_.load(std::memory_order_relaxed) != 0) wake();
  }

  void lie_down(bool fenced) noexcept;
  void sleep(std::chrono::microseconds at_most) noexcept;
  void get_up() noexcept { down_.store(0, std::memory_order_relaxed); }

 private:
  void wake() noexcept;
  std::atomic<std::uint32_t> down_;  // 1 while the task sleeps, or is about to
};

}  // namespace ferry::shm
