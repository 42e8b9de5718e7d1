// Doorbell: lets a task sleep until another process has written something for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry::shm {

/// A doorbell is in the segment of the task that sleeps. To wait for data that others write:
///
///     bell.prepare_sleep(fenced);
///     if (!something_came()) bell.sleep(at_most);
///     bell.end_sleep();
///
/// A task that writes such data calls ring() afterwards. There is one sleeper and any number of ringers. Zeroed memory
/// is a valid new doorbell.
class alignas(64) Doorbell {
 public:
  /// Registers this process for membarrier(): a sleeper in another process then issues the fence for ring(), so that
  /// ring() needs no fence. Returns false if the system has no membarrier().
  [[nodiscard]] static bool register_process();

  /// Call it after writing. `fenced`: ring() must use a fence, because some process could not register. All users of
  /// the doorbell pass the same value.
  void ring(bool fenced) noexcept {
    if (fenced)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_relaxed) != 0) wake();
  }

  void prepare_sleep(bool fenced) noexcept;
  void sleep(std::chrono::microseconds at_most) noexcept;
  void end_sleep() noexcept { sleeping_.store(0, std::memory_order_relaxed); }

 private:
  void wake() noexcept;
  std::atomic<std::uint32_t> sleeping_;  // 1 while the task sleeps, or is about to
};

}  // namespace ferry::shm
