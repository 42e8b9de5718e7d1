// Doorbell: how a task sleeps until another process has written something for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry::shm {

/// It is in the sleeper's segment. To wait for something that others write:
///
///     bell.lie_down(fenced);
///     if (!something_came()) bell.sleep(at_most);
///     bell.get_up();
///
/// A task that writes it calls ring() afterwards. One sleeper; any number of ringers. Zeroed memory is a valid new one.
class alignas(64) Doorbell {
 public:
  /// Registers this process for membarrier(): a sleeper in another process then issues the fence for ring(), which
  /// needs none of its own. False where the system has no membarrier().
  [[nodiscard]] static bool register_process();

  /// Call it after writing. `fenced`, the same for all who use the bell: some process could not register, so that
  /// ring() must fence.
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
