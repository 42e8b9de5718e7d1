#include "base/system/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/system/output.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr int kPatienceMs = 1000;

/// An atomic outside of Log, so that a signal handler can read it.
std::atomic<int> task_number{-1};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array<std::string_view, 4> kLevelNames = {"error: ", "warning: ", "", "debug: "};
constexpr std::array<std::string_view, 4> kLevelColours = {"\x1b[31m", "\x1b[33m", "", "\x1b[2m"};

std::string with_task(int task, LogLevel level, std::string_view message) {
  const std::string prefix = task < 0 ? "" : "[task " + std::to_string(task) + "] ";
  std::string lines;
  for (std::string_view line : split(message, '\n')) {
    lines += prefix;
    if (lines.size() == prefix.size()) lines += kLevelNames[static_cast<std::size_t>(level)];
    lines.append(line).append("\n");
  }
  return lines;
}

// The sink of the log, the lock that guards it, and the counts of lost messages.
class Log {
 public:
  void write(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (unreported_ > 0 && put(LogLevel::warn, std::to_string(unreported_) + " log messages could not be written"))
      unreported_ = 0;
    if (put(level, message)) return;
    ++unreported_;
    ++lost;
  }
  LogSink replace(LogSink sink) {
    const std::lock_guard lock(mutex_);
    std::swap(sink_, sink);
    return sink;
  }

  std::atomic<LogLevel> lowest{LogLevel::info};
  std::atomic<std::uint64_t> lost{0};

 private:
  bool put(LogLevel level, std::string_view message) noexcept {
    try {
      const std::string lines = with_task(task_number, level, message);
      return sink_ ? sink_(level, lines) : stderr_(level, lines);
    } catch (...) {
      return false;
    }
  }

  std::mutex mutex_;
  LogSink sink_;
  LogSink stderr_ = descriptor_sink(STDERR_FILENO);
  std::uint64_t unreported_ = 0;  // messages that are lost and not yet reported
};

// Never destroyed: threads and static objects may log while the process ends.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}

bool wants_colour(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(descriptor) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

void log(LogLevel level, std::string_view message) noexcept {
  try {
    if (logs(level)) the_log().write(level, printable(message));
  } catch (...) {  // out of memory on the first use
  }
}

void log_at_once(std::string_view message) noexcept {
  std::array<char, 256> line;
  std::size_t size = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text.substr(0, line.size() - 1 - size)) line[size++] = c;
  };
  if (::isatty(STDERR_FILENO) == 1) add("\n");
  if (const int task = task_number; task >= 0) {
    std::array<char, 12> digits;
    const char* const end = std::to_chars(digits.begin(), digits.end(), task).ptr;
    add("[task ");
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    add("] ");
  }
  add(message);
  line[size++] = '\n';
  write_at_once(STDERR_FILENO, {line.data(), size});
}

void log_level(LogLevel lowest) {
  the_log().lowest = lowest;
}

bool logs(LogLevel level) {
  return level <= the_log().lowest;
}

void log_task(int task) {
  task_number = task;
}

LogSink log_sink(LogSink sink) {
  return the_log().replace(std::move(sink));
}

std::uint64_t log_messages_lost() {
  return the_log().lost;
}

LogSink descriptor_sink(int descriptor) {
  return
      [descriptor, colour = wants_colour(descriptor), stuck = false](LogLevel level, std::string_view lines) mutable {
        const std::string_view begin = colour ? kLevelColours[static_cast<std::size_t>(level)] : "";
        std::string text(lines);
        if (!begin.empty()) text = std::string(begin).append(lines.substr(0, lines.size() - 1)).append("\x1b[0m\n");
        stuck = !write_with_patience(descriptor, text, stuck ? 0 : kPatienceMs);
        return !stuck;
      };
}

}  // namespace ferry
