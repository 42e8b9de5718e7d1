// What becomes of exceptions that nobody catches.
#pragma once

namespace ferry {

/// From now on each ends the process, and its job, with its text and exit code (docs/exit_codes.md). Before, from the
/// program's start, that holds for ferry::Error alone: graphs are often made before there is a job.
void end_with_uncaught() noexcept;

}  // namespace ferry
