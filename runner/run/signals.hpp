// Signals of a run: Ctrl-C and SIGTERM stop it in good order on all tasks (exit code 130); a second one ends the
// process at once. If the run saves checkpoints, SIGTERM makes it save one and stop (exit code 75); Ctrl-C then stops
// it without.
#pragma once

#include <csignal>

namespace ferry {

/// Handles SIGINT and SIGTERM while it lives, then restores the handlers from before. At most one in a process at a
/// time; made from the main thread.
class [[nodiscard]] SignalGuard {
 public:
  /// `saves`: the run saves checkpoints.
  explicit SignalGuard(bool saves);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  struct sigaction before_int_ {
  }, before_term_{};
};

}  // namespace ferry
