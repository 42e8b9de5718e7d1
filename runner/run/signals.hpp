// Signals of a run: Ctrl-C and SIGTERM stop it in good order on all tasks (exit code 130); the second one ends it at
// once. Where checkpoints are saved SIGTERM makes it save one and stop (exit code 75); Ctrl-C stops that, too.
#pragma once

#include <csignal>

namespace ferry {

/// Takes SIGINT and SIGTERM while it lives, then gives them back. One at a time in a process; from the main thread.
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
