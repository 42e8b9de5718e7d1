// The launcher's agent on a host. It starts tasks, and forwards their output and input. No task outlives the agent or
// the launcher.
#pragma once

namespace ferry {

/// Serves the launcher at the other end of stdin and stdout until all tasks have ended, or the launcher has ended. Then
/// kills all processes that are left of the tasks. Returns the exit code.
[[nodiscard]] int run_launch_agent();

}  // namespace ferry
