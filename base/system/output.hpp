// Writing to descriptors that a person or another program reads: stdout, stderr.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// `text` as it is printed, whatever a file has put in it: nothing in it moves a terminal's cursor, turns colours on or
/// ends the text. Ends of lines, tabs and backslashes stay; all else is as escaped() (base/text.hpp) gives it.
[[nodiscard]] std::string printable(std::string_view text);

/// Writes all of `text`, and waits for a reader that is slow. Once the process is asked to stop
/// (base/system/interrupt.hpp), text that would have to wait is dropped instead: a launcher that ends its job reads no
/// more, and must not keep a run from saving. Returns 0 or the errno; EAGAIN: the rest was dropped. Thread-safe; texts
/// of up to PIPE_BUF bytes do not mix.
int write_all(int descriptor, std::string_view text) noexcept;

/// Writes all of `text`, unless one of its pieces has to wait for longer than `patience_ms`. Returns whether all was
/// written. Thread-safe.
[[nodiscard]] bool write_with_patience(int descriptor, std::string_view text, int patience_ms) noexcept;

/// Writes `text` if that needs no waiting, else nothing. Async-signal-safe; at most PIPE_BUF bytes.
void write_at_once(int descriptor, std::string_view text) noexcept;

}  // namespace ferry
