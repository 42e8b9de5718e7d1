// Signals of a run: Ctrl-C, SIGTERM and SIGHUP stop it in an orderly way on all tasks (exit code 130); a second Ctrl-C
// ends the process at once. If the run saves checkpoints, SIGTERM and SIGHUP make it save one and stop (exit code 75).
// SIGUSR1 then makes it save one and continue, and Ctrl-C stops it without saving. Until the job has formed there is
// nothing to save, and SIGTERM and SIGHUP interrupt the wait for the other tasks.
#pragma once

#include <csignal>
#include <vector>

namespace ferry {

/// Handles these signals during its lifetime, then restores the previous handlers. An ignored SIGHUP stays ignored
/// (nohup). A SIGUSR1 that the program ignores or handles is left to the program. At most one exists in a process at a
/// time; make it in the main thread.
class [[nodiscard]] SignalGuard {
 public:
  /// `saves`: the run saves checkpoints.
  explicit SignalGuard(bool saves);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// Call it when the job has formed. From then on SIGTERM and SIGHUP make a run that saves checkpoints save one. So
  /// does an earlier signal if the job has formed in spite of it.
  void joined() noexcept;

 private:
  /// Sets the handler of a signal. The destructor restores the previous handler.
  void handle(int signal, void (*handler)(int));

  struct Before {
    int signal;
    struct sigaction action;
  };
  std::vector<Before> before_;
};

}  // namespace ferry
