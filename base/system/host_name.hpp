// The names and addresses of this machine.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The host's name, read from the system on each call; empty if there is none. Thread-safe.
[[nodiscard]] std::string this_host_name();

/// Whether it names this machine: its name, with or without its domain, the address of one of its interfaces (loopback
/// also), or a name that stands for such addresses alone, as the resolver says, which may take its time. Thread-safe.
[[nodiscard]] bool is_this_host(const std::string& name);

}  // namespace ferry
#pragma GCC visibility pop
