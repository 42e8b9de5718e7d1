// The log: lines for people on stderr, each with the task that wrote it. Logging never fails and never ends the
// program: a line that cannot be written (disk full, reader gone) is dropped and counted.
//
//     log_task(1);
//     log_warn("the mask has 1 core for 2 threads");     // "[task 1] warning: the mask has 1 core for 2 threads"
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

enum class LogLevel : int { error, warn, info, debug };

/// Writes the lines of one message, each ending in '\n'. Returns false if they were lost. Only one thread at a time
/// calls it. It must not log.
using LogSink = std::function<bool(LogLevel level, std::string_view lines)>;

/// Writes one message; each of its lines gets the task's number. Thread-safe; messages of several threads do not mix.
void log(LogLevel level, std::string_view message) noexcept;
inline void log_error(std::string_view message) noexcept {
  log(LogLevel::error, message);
}
inline void log_warn(std::string_view message) noexcept {
  log(LogLevel::warn, message);
}
inline void log_info(std::string_view message) noexcept {
  log(LogLevel::info, message);
}
inline void log_debug(std::string_view message) noexcept {
  log(LogLevel::debug, message);
}

/// Writes a line of up to 200 bytes on stderr, if that needs no waiting. On a terminal, begins a new line before it.
/// Async-signal-safe.
void log_at_once(std::string_view message) noexcept;

/// Sets the lowest level that is written; messages below it are dropped before they cost anything. The default is info.
/// Thread-safe.
void log_level(LogLevel lowest);
/// Whether a message of this level would be written; check it before building a costly message.
[[nodiscard]] bool logs(LogLevel level);
/// Sets the number of the task that is printed before each line; negative (the default): none. Thread-safe.
void log_task(int task);
/// Sets the sink of later messages; an empty function means stderr. Returns the previous sink. Thread-safe.
LogSink log_sink(LogSink sink);
/// The number of messages lost since the program began. Before the next message that can be written, ferry writes a
/// warning with the number of messages lost just before.
[[nodiscard]] std::uint64_t log_messages_lost();

/// A sink that writes to a file descriptor, which it does not own. It drops a message if the reader reads nothing for a
/// second. It writes colours only on a terminal, and never if the variable NO_COLOR is set and not empty
/// (https://no-color.org).
[[nodiscard]] LogSink descriptor_sink(int descriptor);

}  // namespace ferry
#pragma GCC visibility pop
