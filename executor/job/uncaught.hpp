// Handling of exceptions that nobody catches.
#pragma once

namespace ferry {

/// From this call on an uncaught exception of any type ends the process, and its job, with the exception's text and
/// exit code (docs/reference/exit_codes.md). Before this call, only an uncaught ferry::Error ends the process in this
/// way, since programs often make graphs before there is a job; other exceptions go to the terminate handler that was
/// set before. The handler is set once, before main: a program that sets another one keeps it.
void end_with_uncaught() noexcept;

}  // namespace ferry
