// Waiting for descriptors and signals in one place.
#pragma once

#include <csignal>
#include <initializer_list>
#include <span>

#include "base/process/descriptor.hpp"
#include "base/system/clock.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The events to wait for on a descriptor. Neither, or a negative descriptor: no events.
struct DescriptorWatch {
  int descriptor = -1;
  bool to_read = false, to_write = false;
  bool ready = false;  ///< a read or write would not block, or would fail at once
};

/// Waits until one of these is ready or the deadline has come, and sets `ready` of all. Error(resource) for more than
/// the process may have open.
void wait_ready(std::span<DescriptorWatch> watched, const Deadline& deadline);

/// While it lives, these signals wait in a queue instead of interrupting this thread; made before other threads are
/// started, which inherit that. One that the process ignores is not queued.
class [[nodiscard]] SignalQueue {
 public:
  /// Error(resource) when the system has no more descriptors.
  explicit SignalQueue(std::initializer_list<int> signals);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// Can be read, for wait_ready(), when there is a signal.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// The next signal in the queue; 0: it is empty.
  [[nodiscard]] int next() noexcept;

 private:
  sigset_t before_;
  Descriptor descriptor_;
};

/// Makes reads and writes that would have to wait fail with EAGAIN. Only for pipes and sockets that no other process
/// uses, since it holds for all who have them.
void never_wait(const Descriptor& descriptor) noexcept;

}  // namespace ferry
#pragma GCC visibility pop
