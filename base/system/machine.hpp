// Facts about this machine: its names, its memory, its time of day.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The whole content of a small system file, such as /proc/meminfo; empty if it cannot be read. Thread-safe.
[[nodiscard]] std::string system_text(const char* path);

/// The host's name, read from the system on each call; empty if there is none. Thread-safe.
[[nodiscard]] std::string this_host_name();

/// The text after "key:" on the first line that begins with `key` in a system file; empty if there is none.
/// Thread-safe.
[[nodiscard]] std::string system_field(const char* path, std::string_view key);

/// The model name of the processor, as the kernel knows it, or "unknown processor". Thread-safe.
[[nodiscard]] std::string cpu_name();

/// Whether `name` is this machine: its host name with or without domain, the address of one of its interfaces (loopback
/// too), or a name that resolves only to such addresses. The resolver may take long. Thread-safe.
[[nodiscard]] bool is_this_host(const std::string& name);

/// Bytes of installed memory. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t installed_memory_bytes();

/// Bytes of installed memory and swap, beyond which nothing can ever fit. UINT64_MAX: not known. Thread-safe.
[[nodiscard]] std::uint64_t memory_and_swap_bytes();

/// The time of day in seconds since the beginning of 1970, UTC, for people to read. ferry never waits for it or
/// compares it, because it may jump. Thread-safe.
[[nodiscard]] double wall_seconds();

}  // namespace ferry
#pragma GCC visibility pop
