// AsymmetricFence: a memory barrier between two threads that only one of them pays for.
#pragma once

#include <atomic>

namespace ferry {

/// A fence that is cheap on one side. A thread that often writes something and then looks whether another sleeps calls
/// light(); a thread that is about to sleep and looks once more calls heavy():
///
///     written.store(1);                 sleepers.store(1);
///     fence.light();                    fence.heavy();
///     if (sleepers.load()) wake();      if (!written.load()) sleep();
///
/// One of the two sees what the other wrote. light() is free where Linux's membarrier() is there, heavy() then is a
/// system call; else both are full fences. Between threads of one process. Thread-safe.
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

}  // namespace ferry
