// Identifies the build of ferry: all tasks of a job must run the same.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// "ferry 0.1.0, protocol 1, ops 5f0c…": the version of ferry, that of the control messages, and a hash of the version
/// of plans and of the definitions of all ops. Equal for equal sources, whatever the compiler.
[[nodiscard]] const std::string& build_text();

/// Increase it when the control messages that tasks exchange (in connect and later) change.
inline constexpr int kProtocolVersion = 1;

}  // namespace ferry
