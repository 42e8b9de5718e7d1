// What a process has once: a library must not change it for its program.
#pragma once

#include <map>
#include <string>

namespace guest {

/// Each fact by name, as text.
using ProcessState = std::map<std::string, std::string>;

[[nodiscard]] ProcessState process_state();

}  // namespace guest
