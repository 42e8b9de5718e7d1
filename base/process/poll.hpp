// Waits for descriptors and signals together.
#pragma once

#include <csignal>
#include <initializer_list>
#include <span>

#include "base/process/descriptor.hpp"
#include "base/system/clock.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The events to wait for on a descriptor. If both flags are false, or the descriptor is negative, there are no events.
struct DescriptorWatch {
  int descriptor = -1;
  bool to_read = false, to_write = false;
  bool ready = false;  ///< a read or write would not block, or would fail at once
};

/// Waits until a descriptor is ready or the deadline has come, and sets `ready` of all. Error(resource) if `watched`
/// has more descriptors than the process may have open.
void wait_ready(std::span<DescriptorWatch> watched, const Deadline& deadline);

/// While a SignalQueue exists, its signals wait in a queue instead of interrupting its thread. Make it before other
/// threads are started, because threads inherit the blocked signals. A signal that the process ignores is not queued.
class [[nodiscard]] SignalQueue {
 public:
  /// Error(resource) when the system has no more descriptors.
  explicit SignalQueue(std::initializer_list<int> signals);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// A descriptor for wait_ready(). It can be read when the queue has a signal.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// Removes and returns the next signal of the queue; 0 if the queue is empty.
  [[nodiscard]] int next() noexcept;

 private:
  sigset_t before_;
  Descriptor descriptor_;
};

/// Makes reads and writes that would have to wait fail with EAGAIN. Use it only for pipes and sockets that no other
/// process uses, because it affects all processes that have them.
void never_wait(const Descriptor& descriptor) noexcept;

}  // namespace ferry
#pragma GCC visibility pop
