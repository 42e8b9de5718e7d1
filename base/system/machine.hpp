// What the system says of this machine: its names, its memory, its time of day.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The whole content of a small file by which the system describes itself, such as /proc/meminfo; empty when it cannot
/// be read. Thread-safe.
[[nodiscard]] std::string system_text(const char* path);

/// The host's name, read from the system on each call; empty if there is none. Thread-safe.
[[nodiscard]] std::string this_host_name();

/// The text after "key:" on the first line of such a file that begins with `key`; empty if there is none. Thread-safe.
[[nodiscard]] std::string system_field(const char* path, std::string_view key);

/// The model name of the processor, as the kernel knows it, or "unknown processor". Thread-safe.
[[nodiscard]] std::string cpu_name();

/// Whether it names this machine: its name, with or without its domain, the address of one of its interfaces (loopback
/// also), or a name that stands for such addresses alone, as the resolver says, which may take its time. Thread-safe.
[[nodiscard]] bool is_this_host(const std::string& name);

/// Bytes of installed memory. 0: not known. Thread-safe.
[[nodiscard]] std::uint64_t installed_memory_bytes();

/// Bytes of installed memory and swap, beyond which nothing can ever fit. UINT64_MAX: not known. Thread-safe.
[[nodiscard]] std::uint64_t memory_and_swap_bytes();

/// The time of day in seconds since the beginning of 1970, UTC, for people to read. Nothing waits by it or compares it,
/// since it may jump. Thread-safe.
[[nodiscard]] double wall_seconds();

}  // namespace ferry
#pragma GCC visibility pop
