// Monitor: lets threads sleep until something that a lock guards has changed.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/system/clock.hpp"

namespace ferry {

/// A mutex with a condition variable. If threads need no lock to sleep and wake, EventCount is faster.
///
///     monitor.change([&] { ready_ = true; });
///
///     auto lock = monitor.lock();
///     monitor.wait(lock, [&] { return ready_; });
///
/// Thread-safe.
class Monitor {
 public:
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Lock lock() { return Lock(mutex_); }
  /// Calls change() under the lock, then wakes all threads that wait.
  template <class Change>
  void change(const Change& change) {
    {
      const Lock lock(mutex_);
      change();
    }
    notify();
  }
  /// Wakes all threads that wait, so that they check again.
  void notify() noexcept { changed_.notify_all(); }
  /// Returns once ready() is true. ready() is called under the lock, which is released while the thread sleeps.
  template <class Ready>
  void wait(Lock& lock, const Ready& ready) {
    changed_.wait(lock, ready);
  }
  /// Like wait(), for at most `at_most`; returns whether ready() is true.
  template <class Ready>
  [[nodiscard]] bool wait_for(Lock& lock, Duration at_most, const Ready& ready) {
    return changed_.wait_for(lock, at_most, ready);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace ferry
