#include "runner/run/signals.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/error.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

constexpr auto kStopping = "stopping after a signal (Ctrl-C: at once)";

std::atomic<bool> joining{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

// Uses only async-signal-safe operations: isatty, poll, write, _exit and a lock-free atomic. A repeated SIGTERM changes
// nothing, as launchers and schedulers send it more than once.
void on_signal(int signal) {
  const int kept = errno;
  const bool again = interrupt_requested() != 0;
  if (again && signal == SIGINT) _exit(static_cast<int>(Code::interrupted));
  request_interrupt(signal);
  if (!again) log_at_once(signal == SIGINT ? "stopping (again: at once)" : kStopping);
  errno = kept;
}

void on_preemption(int signal) {
  const int kept = errno;
  const bool waits = joining.load();
  if (!preemption_requested()) log_at_once(waits ? kStopping : "saving a checkpoint, then stopping (Ctrl-C: without)");
  request_preemption();
  if (waits) request_interrupt(signal);
  errno = kept;
}

void on_save(int) {
  const int kept = errno;
  log_at_once("saving a checkpoint, then continuing");
  request_save();
  errno = kept;
}

/// The current handler of a signal.
void (*handler_of(int signal))(int) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

}  // namespace

SignalGuard::SignalGuard(bool saves) {
  clear_interrupt();
  joining = true;
  handle(SIGINT, on_signal);
  handle(SIGTERM, saves ? on_preemption : on_signal);
  if (handler_of(SIGHUP) != SIG_IGN) handle(SIGHUP, saves ? on_preemption : on_signal);
  if (saves && handler_of(SIGUSR1) == SIG_DFL) handle(SIGUSR1, on_save);
}

void SignalGuard::joined() noexcept {
  joining = false;
  if (!preemption_requested() || interrupt_requested() == SIGINT) return;
  clear_interrupt();
  request_preemption();
}

SignalGuard::~SignalGuard() {
  for (const Before& before : before_) sigaction(before.signal, &before.action, nullptr);
}

void SignalGuard::handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  Before before{signal, {}};
  sigaction(signal, &action, &before.action);
  before_.push_back(before);
}

}  // namespace ferry
