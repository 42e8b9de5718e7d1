// Signals of a run: Ctrl-C, SIGTERM and SIGHUP stop it in good order on all tasks (exit code 130); a second Ctrl-C ends
// the process at once. If the run saves checkpoints, SIGTERM and SIGHUP make it save one and stop (exit code 75),
// SIGUSR1 makes it save one and continue; Ctrl-C then stops it without. Until the job has formed there is nothing to
// save, and SIGTERM and SIGHUP interrupt the wait for the other tasks.
#pragma once

#include <csignal>
#include <vector>

namespace ferry {

/// Handles these signals while it lives, then restores the handlers from before. A SIGHUP that is ignored stays ignored
/// (nohup), and a SIGUSR1 that the program ignores or handles is left to it. At most one in a process at a time; made
/// from the main thread.
class [[nodiscard]] SignalGuard {
 public:
  /// `saves`: the run saves checkpoints.
  explicit SignalGuard(bool saves);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The job has formed: from now on SIGTERM and SIGHUP make a run that saves checkpoints save one. So does one that
  /// came before and did not keep the job from forming.
  void joined() noexcept;

 private:
  /// Sets the handler of a signal until the destructor restores the one from before.
  void handle(int signal, void (*handler)(int));

  struct Before {
    int signal;
    struct sigaction action;
  };
  std::vector<Before> before_;
};

}  // namespace ferry
