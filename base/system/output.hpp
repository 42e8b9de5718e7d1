// Writing to descriptors that a person or another program reads: stdout, stderr.
#pragma once

#include <csignal>

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// `text` made safe to print on a terminal, even if it comes from a file: no part of it moves the cursor, changes
/// colours or ends the text. Line feeds, tabs and backslashes stay; all else is as by escaped() (base/text.hpp).
[[nodiscard]] std::string printable(std::string_view text);

/// Writes all of `text`, and waits for a slow reader. After the process has been asked to stop
/// (base/system/interrupt.hpp), text that would have to wait is dropped. A launcher that ends its job may read no more,
/// and this must not keep a run from saving. Returns 0 or the errno; EAGAIN: the rest was dropped. Thread-safe; texts
/// of up to PIPE_BUF bytes do not mix.
int write_all(int descriptor, std::string_view text) noexcept;

/// Writes all of `text`, unless one of its pieces has to wait for longer than `patience_ms`. Returns whether all was
/// written. Thread-safe.
[[nodiscard]] bool write_with_patience(int descriptor, std::string_view text, int patience_ms) noexcept;

/// Writes `text`, of at most PIPE_BUF bytes, if that needs no waiting, else nothing. Async-signal-safe.
void write_at_once(int descriptor, std::string_view text) noexcept;

/// While one lives, writing to a closed pipe, or beyond the limit of a file's size (ulimit -f), is an error (EPIPE,
/// EFBIG) instead of a signal that ends the process. It holds for the whole process and for those that it starts, so
/// only what has the process to itself makes one, at its start.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals();
  ~WithoutWriteSignals();
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

 private:
  struct sigaction pipe_;  ///< of before
  struct sigaction size_;
};

}  // namespace ferry
#pragma GCC visibility pop
