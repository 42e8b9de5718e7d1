// Functions that write to descriptors that a person or another program reads: stdout, stderr.
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
/// (base/system/interrupt.hpp), it drops text that would have to wait: a launcher that ends its job may read no more,
/// and the run must still save its checkpoint. Returns 0 or the errno; EAGAIN: the rest was dropped. Thread-safe; texts
/// of up to PIPE_BUF bytes do not mix.
int write_all(int descriptor, std::string_view text) noexcept;

/// Writes all of `text`, unless one of its pieces has to wait for longer than `patience_ms`. Returns whether all was
/// written. Thread-safe.
[[nodiscard]] bool write_with_patience(int descriptor, std::string_view text, int patience_ms) noexcept;

/// Writes `text`, of at most PIPE_BUF bytes, if that needs no waiting, else nothing. Async-signal-safe.
void write_at_once(int descriptor, std::string_view text) noexcept;

/// While an object exists, writing to a closed pipe, or beyond the limit of a file's size (ulimit -f), is an error
/// (EPIPE, EFBIG) instead of a signal that ends the process. It affects the whole process and the processes that it
/// starts. So only a program, not a library, makes an object, at its start.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals();
  ~WithoutWriteSignals();
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

 private:
  struct sigaction pipe_;  ///< the earlier actions of SIGPIPE and SIGXFSZ
  struct sigaction size_;
};

}  // namespace ferry
#pragma GCC visibility pop
