// The name of this machine.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace ferry {

/// The host's name, read anew on each call; empty when there is none. Thread-safe.
[[nodiscard]] std::string this_host_name();

}  // namespace ferry
#pragma GCC visibility pop
