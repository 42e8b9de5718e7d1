// What becomes of exceptions that nobody catches.
#pragma once

namespace ferry {

/// From this call on an uncaught exception of any type ends the process, and its job, with the exception's text and
/// exit code (docs/exit_codes.md). Before this call only an uncaught ferry::Error does, as graphs are often built
/// before there is a job.
void end_with_uncaught() noexcept;

}  // namespace ferry
