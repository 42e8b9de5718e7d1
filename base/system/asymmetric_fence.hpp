// AsymmetricFence: a memory barrier between two threads that only one of them pays for.
#pragma once

#include <atomic>

namespace ferry {

/// A fence that is cheap on one side. Call light() in the thread that often writes something and then checks whether
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

}  // namespace ferry
