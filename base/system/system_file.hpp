// Small files in which the system tells of itself: /proc, /sys.
#pragma once

#include <string>

namespace ferry {

/// All of it; empty when it cannot be read. Thread-safe.
[[nodiscard]] std::string system_text(const char* path);

}  // namespace ferry
