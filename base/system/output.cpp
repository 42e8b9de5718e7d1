#include "base/system/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/system/interrupt.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr int kLookMs = 50;  // a request to stop is noticed after at most this time

bool stopping() {
  return preemption_requested() || interrupt_requested() != 0;
}

/// Waits until the descriptor can be written. Returns a positive number if a write of PIPE_BUF bytes does not block (or
/// fails at once), 0 after `milliseconds`, and a negative number on an error, which is then in errno.
int wait_for(int descriptor, int milliseconds) {
  pollfd waiting{descriptor, POLLOUT, 0};
  return ::poll(&waiting, 1, milliseconds);
}

/// Writes `text` piece by piece, each after `wait()` has returned 0. Returns 0, or the errno that stopped it.
template <class Wait>
int write_pieces(int descriptor, std::string_view text, Wait wait) {
  while (!text.empty()) {
    if (const int error = wait(); error != 0) return error;
    const ssize_t written = ::write(descriptor, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR && errno != EAGAIN)
      return errno;
  }
  return 0;
}

bool is_plain(char c) {
  return c == '\n' || c == '\t' || (c >= ' ' && c <= '~');
}

}  // namespace

std::string printable(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t kept = std::min(text.find_first_of("\n\t\\"), text.size());
    out += escaped(text.substr(0, kept), std::string_view::npos);
    text.remove_prefix(kept);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

int write_all(int descriptor, std::string_view text) noexcept {
  return write_pieces(descriptor, text, [descriptor] {
    while (true) {
      const int ready = wait_for(descriptor, stopping() ? 0 : kLookMs);
      if (ready > 0) return 0;
      if (ready < 0 && errno != EINTR) return errno;
      if (stopping()) return EAGAIN;
    }
  });
}

bool write_with_patience(int descriptor, std::string_view text, int patience_ms) noexcept {
  const auto wait = [descriptor, patience_ms] {
    int ready = 0;
    do ready = wait_for(descriptor, patience_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 ? 0 : EAGAIN;
  };
  return write_pieces(descriptor, text, wait) == 0;
}

void write_at_once(int descriptor, std::string_view text) noexcept {
  if (wait_for(descriptor, 0) > 0) static_cast<void>(!::write(descriptor, text.data(), text.size()));
}

WithoutWriteSignals::WithoutWriteSignals() {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignored, &pipe_);
  sigaction(SIGXFSZ, &ignored, &size_);
}

WithoutWriteSignals::~WithoutWriteSignals() {
  sigaction(SIGPIPE, &pipe_, nullptr);
  sigaction(SIGXFSZ, &size_, nullptr);
}

}  // namespace ferry
