// `ferry launch`: starts the tasks of a job on this host or on several, and supervises them.
#pragma once

#include "runner/launch/launch_options.hpp"

namespace ferry {

/// Runs the job to its end. Returns its exit code: the exit code of the task that failed first
/// (docs/guide/launching.md). When it returns, no process of the job is left on this host, and processes on other hosts
/// are about to be killed.
[[nodiscard]] int launch(const LaunchOptions& options);

}  // namespace ferry
