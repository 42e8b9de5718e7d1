// Reads the small files by which the system describes itself: /proc, /sys.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace ferry {

/// The file's whole content; empty when it cannot be read. Thread-safe.
[[nodiscard]] std::string system_text(const char* path);

}  // namespace ferry
#pragma GCC visibility pop
