// Time: a monotonic clock behind an interface, so that a simulation can replace it, and deadlines measured with it.
// Nothing in ferry uses the wall clock for waiting, since it may jump.
#pragma once

#include <chrono>
#include <string>

#pragma GCC visibility push(default)
namespace ferry {

using Duration = std::chrono::nanoseconds;
/// A point on a monotonic clock. Only differences mean anything, and only between points of one clock.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// "2.5 s": seconds with three digits.
[[nodiscard]] std::string seconds_text(Duration time);

/// A clock that never goes back. All functions may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() = 0;
  /// Returns when `time` has passed; at once if `time` is not positive. The calling thread sleeps. A simulated clock
  /// overrides this function.
  virtual void sleep(Duration time);
};

/// The machine's monotonic clock.
[[nodiscard]] Clock& system_clock();

/// A moment by which something must have happened. Copyable; refers to its clock, which must outlive it. Const
/// functions may be called from any thread.
///
///     Deadline deadline(system_clock(), std::chrono::seconds(60));
///     while (!ready()) if (deadline.expired()) throw Error(Code::stalled, "…");
class Deadline {
 public:
  /// `time` from now. A deadline beyond the clock's range never comes; one with a negative `time` has expired already.
  Deadline(Clock& clock, Duration time);
  /// A deadline that never comes.
  [[nodiscard]] static Deadline never(Clock& clock) { return {clock, Duration::max()}; }

  [[nodiscard]] bool expired() const { return remaining() == Duration::zero(); }
  /// The time left, at least 0; Duration::max() when the deadline never comes.
  [[nodiscard]] Duration remaining() const;

 private:
  Clock* clock_;
  TimePoint end_;
};

}  // namespace ferry
#pragma GCC visibility pop
