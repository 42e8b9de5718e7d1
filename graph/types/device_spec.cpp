#include "graph/types/device_spec.hpp"

#include <charconv>

#include "base/error.hpp"

namespace ferry {
namespace {

/// Parses a device string part by part. Every error points at a place in the string.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DeviceSpec parse() {
    if (!text_.empty() && text_[0] != '/') fail(0, "a device begins with '/'");
    while (at_ < text_.size()) part();
    return spec_;
  }

 private:
  void part() {
    const std::size_t start = ++at_;
    const std::string_view key = word(":/");
    if (at_ >= text_.size() || text_[at_] != ':')
      fail(at_, "expected ':' and a value after '" + std::string(key) + "'");
    const std::size_t value_at = ++at_;
    const std::string_view value = word("/");
    if (value.empty()) fail(value_at, "a value is missing");
    if (key == "job") {
      set(spec_.job, name(value, value_at), start);
    } else if (key == "task" || key == "replica") {
      if (key == "replica") fail(start, "ferry has no replicas: use /task:N");
      set(spec_.task, value == "*" ? DeviceSpec::kAllTasks : number(value, value_at), start);
    } else if (key == "cpu" || key == "CPU" || key == "gpu" || key == "GPU") {
      set(spec_.kind, key[0] == 'c' || key[0] == 'C' ? DeviceKind::cpu : DeviceKind::gpu, start);
      if (value != "*") spec_.index = number(value, value_at);
    } else {
      fail(start, "unknown part '" + std::string(key) + "': job, task, cpu or gpu");
    }
  }

  template <class T>
  void set(std::optional<T>& field, T value, std::size_t start) {
    if (field) fail(start, "given twice");
    field = std::move(value);
  }

  std::string_view word(std::string_view stops) {
    const std::size_t start = at_;
    while (at_ < text_.size() && stops.find(text_[at_]) == std::string_view::npos) ++at_;
    return text_.substr(start, at_ - start);
  }

  std::string name(std::string_view value, std::size_t where) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const char c = value[i];
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      const bool digit = (c >= '0' && c <= '9') || c == '-';
      if (!letter && (i == 0 || !digit)) fail(where + i, "a job's name has letters, digits, '_' and '-'");
    }
    return std::string(value);
  }

  int number(std::string_view value, std::size_t where) {
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || result < 0) fail(where, "expected a number, 0 or more");
    if (end != value.data() + value.size())
      fail(where + static_cast<std::size_t>(end - value.data()), "expected a number");
    return result;
  }

  [[noreturn]] void fail(std::size_t where, const std::string& why) const {
    throw Error(Code::usage, "malformed device '" + std::string(text_) + "': " + why)
        .note(std::string(text_))
        .note(std::string(where, ' ') + "^")
        .hint("for example /job:worker/task:1/cpu:0 or /task:*");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  DeviceSpec spec_;
};

}  // namespace

std::string_view name_of(DeviceKind kind) {
  return kind == DeviceKind::cpu ? "cpu" : "gpu";
}

DeviceSpec DeviceSpec::parse(std::string_view text) {
  return Parser(text).parse();
}

std::string DeviceSpec::str() const {
  std::string text;
  if (job) text += "/job:" + *job;
  if (task) text += "/task:" + (all_tasks() ? std::string("*") : std::to_string(*task));
  if (kind) text.append("/").append(name_of(*kind)).append(":").append(index ? std::to_string(*index) : "*");
  return text;
}

bool DeviceSpec::all_tasks() const {
  return task == kAllTasks;
}

DeviceSpec DeviceSpec::merged(const DeviceSpec& inner) const {
  DeviceSpec result = *this;
  if (inner.job) {
    result.job = inner.job;
    result.task.reset();
  }
  if (inner.task) result.task = inner.task;
  if (inner.kind) {
    result.kind = inner.kind;
    result.index.reset();
  }
  if (inner.index) result.index = inner.index;
  return result;
}

}  // namespace ferry
