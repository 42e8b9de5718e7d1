// The log while a test looks.
#pragma once

#include <string>
#include <string_view>

#include "base/system/log.hpp"

namespace ferry::test {

/// Takes all lines of the log while it lives, instead of stderr. Of one thread.
class LogText {
 public:
  LogText()
      : before_(log_sink([this](LogLevel, std::string_view lines) {
          text += lines;
          return true;
        })) {}
  ~LogText() { log_sink(before_); }
  LogText(const LogText&) = delete;
  LogText& operator=(const LogText&) = delete;

  std::string text;

 private:
  LogSink before_;
};

}  // namespace ferry::test
