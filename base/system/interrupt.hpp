// Interrupts: how a signal handler asks all runs of this process to stop. Every wait and every loop checks for the
// request, and throws.
#pragma once

#include <cstdint>

#include "base/error.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Asks every run of this process to stop, because of `signal` (SIGINT, SIGTERM). The request stays until
/// clear_interrupt(). Async-signal-safe.
void request_interrupt(int signal) noexcept;
/// The first signal for which a stop was requested; 0: none. Thread-safe; costs one relaxed load.
[[nodiscard]] int interrupt_requested() noexcept;
/// Asks every run of this process that saves checkpoints to save one and stop (Error(preempted)); other runs continue.
/// The request stays until clear_interrupt(). Async-signal-safe.
void request_preemption() noexcept;
[[nodiscard]] bool preemption_requested() noexcept;
/// Asks every run of this process that saves checkpoints to save one and continue; other runs do nothing.
/// Async-signal-safe.
void request_save() noexcept;
/// The number of calls of request_save() since the process began.
[[nodiscard]] std::int64_t saves_requested() noexcept;
/// Forgets the requests to stop, so that a program can start another run.
void clear_interrupt() noexcept;
/// Throws Error(interrupted), which names the signal, if an interrupt was requested.
void check_interrupt();
/// The error that check_interrupt() throws because of `signal`.
[[nodiscard]] Error interrupt_error(int signal);

}  // namespace ferry
#pragma GCC visibility pop
