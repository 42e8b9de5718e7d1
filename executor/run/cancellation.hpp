// Cancellation: ends all walkers of a task when one of them fails or the run is interrupted.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "base/error.hpp"
#include "executor/run/workers.hpp"
#include "executor/watch/watch.hpp"

namespace ferry {

/// Thrown to unwind a walker after another walker has failed.
struct Stopped {};

/// One per executor, whereas Workers::cancel() ends the whole session. Thread-safe except for rethrow(), which is
/// called when all walkers have returned.
class Cancellation {
 public:
  /// `watch`: the job's watch, null without one; `task`: the owner of the executor.
  Cancellation(Workers& workers, const Watch* watch, int task) : workers_(workers), watch_(watch), task_(task) {}

  /// Keeps the task's first failure. The other walkers stop at their next wait or, in a loop, at their next check
  /// (LoopWatch).
  void fail(const Error& error);
  /// Throws the first error that was passed to fail(), if any. Called when all walkers have returned.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] bool stopping() const { return stopping_.load(); }
  /// Throws Stopped when another walker has failed.
  void check_stopping() const {
    if (stopping()) throw Stopped();
  }
  /// Throws Error(interrupted) if a signal or the end of the session asks the run to end. Throws the verdict of the
  /// job's watch if there is one.
  void check_must_end() const;

 private:
  Workers& workers_;
  const Watch* const watch_;
  const int task_;
  std::atomic<bool> stopping_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
};

}  // namespace ferry
