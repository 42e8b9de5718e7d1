#include "runner/run/signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

// Uses only what is async-signal-safe: isatty, poll, write, _exit and a lock-free atomic. A repeated SIGTERM changes
// nothing, as launchers and schedulers send it more than once.
void on_signal(int signal) {
  const int kept = errno;
  const bool again = interrupt_requested() != 0;
  if (again && signal == SIGINT) _exit(static_cast<int>(Code::interrupted));
  request_interrupt(signal);
  if (!again) log_at_once(signal == SIGINT ? "stopping (again: at once)" : "stopping (Ctrl-C: at once)");
  errno = kept;
}

void on_preemption(int) {
  const int kept = errno;
  if (!preemption_requested()) log_at_once("saving a checkpoint, then stopping (Ctrl-C: without)");
  request_preemption();
  errno = kept;
}

}  // namespace

SignalGuard::SignalGuard(bool saves) {
  clear_interrupt();
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int_);
  if (saves) action.sa_handler = on_preemption;
  sigaction(SIGTERM, &action, &before_term_);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

}  // namespace ferry
