// Identifies this build of ferry, which must be the same on all tasks of a job.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// "ferry 0.2.0, protocol 1, ops 5f0c…": ferry's version, the version of the control messages, and a hash of the ops'
/// definitions and the version of the plan format. Builds of the same sources have the same text, for all compilers.
[[nodiscard]] const std::string& build_text();

/// Increase it when the control messages that tasks send each other change.
inline constexpr int kProtocolVersion = 1;

}  // namespace ferry
