// Cancellation: how the walkers of a task end together when one of them fails, or the run is to end.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "base/error.hpp"
#include "executor/run/workers.hpp"

namespace ferry {

/// Thrown to unwind a walker after another walker has failed.
struct Stopped {};

/// One per executor (Workers::cancel() is for the whole session). Thread-safe except rethrow(), which is called when
/// all walkers have returned.
class Cancellation {
 public:
  explicit Cancellation(Workers& workers) : workers_(workers) {}

  /// Keeps the error if it is the task's first; the other walkers then stop at their next wait.
  void fail(const Error& error);
  /// Throws the error that fail() kept, if any.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] bool stopping() const { return stopping_.load(); }
  /// Throws Stopped when another walker has failed.
  void check_stopping() const {
    if (stopping()) throw Stopped();
  }
  /// Error(interrupted) when a signal or the end of the session asks the run to end.
  void check_asked() const;

 private:
  Workers& workers_;
  std::atomic<bool> stopping_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
};

}  // namespace ferry
