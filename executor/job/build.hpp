// Which ferry this is: tasks of a job must have the same.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// "ferry 0.1.0, protocol 1, ops 5f0c…": the version, that of the control messages, and a hash of what ops, plans and
/// their files mean. Equal for equal sources, whatever the compiler.
[[nodiscard]] const std::string& build_text();

/// Goes up when what tasks say to each other in connect and after it changes.
inline constexpr int kProtocolVersion = 1;

}  // namespace ferry
