#include "base/system/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
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

/// By itself, so that a signal's handler can read it.
std::atomic<int> task_number{-1};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array<std::string_view, 4> kLevelNames = {"error: ", "warning: ", "", "debug: "};
constexpr std::array<std::string_view, 4> kLevelColours = {"\x1b[31m", "\x1b[33m", "", "\x1b[2m"};

spdlog::level::level_enum spd_level(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      break;
  }
  return spdlog::level::debug;
}

LogLevel own_level(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return LogLevel::error;
  if (level == spdlog::level::warn) return LogLevel::warn;
  return level == spdlog::level::info ? LogLevel::info : LogLevel::debug;
}

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

// Passes spdlog's messages on to a LogSink, under spdlog's lock, and counts those that are lost.
class Relay final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogSink replace(LogSink sink) {
    const std::lock_guard lock(mutex_);
    std::swap(sink_, sink);
    return sink;
  }
  std::atomic<std::uint64_t> lost{0};

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const LogLevel level = own_level(message.level);
    if (owed_ > 0 && write(LogLevel::warn, std::to_string(owed_) + " log messages could not be written")) owed_ = 0;
    if (write(level, text)) return;
    ++owed_;
    ++lost;
  }
  void flush_() override {}

  bool write(LogLevel level, std::string_view text) noexcept {
    try {
      const std::string lines = with_task(task_number, level, text);
      return sink_ ? sink_(level, lines) : stderr_(level, lines);
    } catch (...) {
      return false;
    }
  }

  LogSink sink_;
  LogSink stderr_ = descriptor_sink(STDERR_FILENO);
  std::uint64_t owed_ = 0;  // lost and not yet reported
};

struct Log {
  std::shared_ptr<Relay> relay = std::make_shared<Relay>();
  spdlog::logger logger{"ferry", relay};
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
    const std::string shown = printable(message);
    the_log().logger.log(spd_level(level), spdlog::string_view_t(shown.data(), shown.size()));
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
  the_log().logger.set_level(spd_level(lowest));
}

bool logs(LogLevel level) {
  return the_log().logger.should_log(spd_level(level));
}

void log_task(int task) {
  task_number = task;
}

LogSink log_sink(LogSink sink) {
  return the_log().relay->replace(std::move(sink));
}

std::uint64_t log_messages_lost() {
  return the_log().relay->lost;
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
