// Interrupts: how a signal handler asks all runs of this process to stop. Every wait and every loop looks here, and
// throws.
#pragma once

namespace ferry {

/// Asks every run of this process to stop, as `signal` (SIGINT, SIGTERM) wants. Async-signal-safe; stays asked.
void request_interrupt(int signal) noexcept;
/// The signal that asked first; 0: none did. Any thread; costs one relaxed load.
[[nodiscard]] int interrupt_requested() noexcept;
/// Asks every run of this process that saves checkpoints to save one and stop (Error(preempted)); other runs go on.
/// Async-signal-safe; stays asked.
void request_preemption() noexcept;
[[nodiscard]] bool preemption_requested() noexcept;
/// Forgets both requests, for the next run of a program that goes on.
void clear_interrupt() noexcept;
/// Throws Error(interrupted), naming the signal, once an interrupt was requested.
void check_interrupt();

}  // namespace ferry
