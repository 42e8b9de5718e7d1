// The launcher's agent on a host: it starts tasks there, forwards their output and input, and lets none of them outlive
// itself or the launcher.
#pragma once

namespace ferry {

/// Serves the launcher at the other end of stdin and stdout until all tasks have ended or the launcher has, and kills
/// all that they have left. Returns the exit code.
[[nodiscard]] int run_launch_agent();

}  // namespace ferry
