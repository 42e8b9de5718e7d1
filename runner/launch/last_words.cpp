#include "runner/launch/last_words.hpp"

#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kMostLine = 400;
constexpr std::string_view kError = "error: ";

}  // namespace

void LastWords::end_line(int task, Task& of) {
  const std::string_view line = trimmed(of.begun);
  if (!line.empty()) of.last = escaped(line, kMostLine);
  if (line.starts_with(kError)) {
    of.error = escaped(line.substr(kError.size()), kMostLine);
    if (first_error_.empty()) {
      first_error_ = of.error;
      first_task_ = task;
    }
  }
  of.begun.clear();
}

void LastWords::take(int task, std::string_view bytes) {
  Task& of = tasks_[task];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (of.begun.size() <= kMostLine) of.begun += bytes.substr(0, end).substr(0, kMostLine + 1);
    if (end == std::string_view::npos) return;
    end_line(task, of);
    bytes.remove_prefix(end + 1);
  }
}

std::string LastWords::of(int task, bool others) {
  Task& own = tasks_[task];
  end_line(task, own);
  if (!own.error.empty()) return ": " + own.error;
  if (others && !first_error_.empty()) return "; task " + std::to_string(first_task_) + " says: " + first_error_;
  return own.last.empty() ? "" : "; its last line: " + own.last;
}

}  // namespace ferry
