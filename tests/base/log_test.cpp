#include "base/system/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/system/output.hpp"

using namespace ferry;

namespace {

// Sends the log elsewhere for a test, and puts everything back.
class LogTo {
 public:
  explicit LogTo(LogSink sink) : before_(log_sink([](LogLevel, std::string_view) { return true; })) {
    log_error("takes what an earlier test still owes");
    log_sink(std::move(sink));
  }
  ~LogTo() {
    log_sink(before_);
    log_task(-1);
    log_level(LogLevel::info);
  }
  LogTo(const LogTo&) = delete;
  LogTo& operator=(const LogTo&) = delete;

 private:
  LogSink before_;
};

LogSink appending_to(std::string& text) {
  return [&text](LogLevel, std::string_view lines) {
    text += lines;
    return true;
  };
}

std::string all_of(int descriptor) {
  std::string text(4096, '\0');
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("base/log");

TEST_CASE("every line says who wrote it and how bad it is") {
  std::string text;
  const LogTo to(appending_to(text));
  log_info("no task yet");
  log_task(1);
  log_error("matmul: sizes differ\n  at model.cpp:12");
  log_warn("careful {}");
  CHECK(text ==
        "no task yet\n"
        "[task 1] error: matmul: sizes differ\n"
        "[task 1]   at model.cpp:12\n"
        "[task 1] warning: careful {}\n");
}

TEST_CASE("levels below the chosen one are dropped") {
  std::string text;
  const LogTo to(appending_to(text));
  log_debug("hidden");
  CHECK_FALSE(logs(LogLevel::debug));
  log_level(LogLevel::debug);
  CHECK(logs(LogLevel::debug));
  log_debug("shown");
  log_level(LogLevel::error);
  log_warn("hidden");
  log_error("last");
  CHECK(text == "debug: shown\nerror: last\n");
}

TEST_CASE("messages of several threads do not mix") {
  std::vector<std::string> messages;
  {
    const LogTo to([&messages](LogLevel, std::string_view lines) {
      messages.emplace_back(lines);
      return true;
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 100; ++i) log_info(std::string(50, static_cast<char>('a' + t)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(messages.size() == 400);
  for (const std::string& message : messages) CHECK(message == std::string(50, message.front()) + "\n");
}

TEST_CASE("a full disk loses messages, says so once it can, and kills nothing") {
  const int disk = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int file = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(disk >= 0);
  REQUIRE(file >= 0);
  const LogTo to(descriptor_sink(disk));
  const std::uint64_t before = log_messages_lost();
  log_info("one");
  log_info("two");
  CHECK(log_messages_lost() == before + 2);
  ::dup2(file, disk);
  log_info("three");
  log_info("four");
  CHECK(log_messages_lost() == before + 2);
  CHECK(all_of(file) == "warning: 2 log messages could not be written\nthree\nfour\n");
  ::close(disk);
  ::close(file);
}

TEST_CASE("a reader that is gone kills nothing") {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const WithoutWriteSignals no_signals;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const LogTo to(descriptor_sink(ends[1]));
  const std::uint64_t lost = log_messages_lost();
  log_info("nobody listens");
  CHECK(log_messages_lost() == lost + 1);
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a throwing sink kills nothing") {
  const LogTo to([](LogLevel, std::string_view) -> bool { throw 1; });
  const std::uint64_t before = log_messages_lost();
  log_info("lost");
  CHECK(log_messages_lost() == before + 1);
}

TEST_CASE("colours are for terminals, and NO_COLOR turns them off") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const int shown = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);  // NOLINT(concurrency-mt-unsafe)
  REQUIRE(shown >= 0);
  const auto what_is_seen = [&] {
    const LogTo to(descriptor_sink(shown));
    log_error("x");
    std::string text;
    char next = 0;
    while (next != '\n' && ::read(terminal, &next, 1) == 1) text += next;  // a terminal may give a line piece by piece
    return text;
  };
  const char* before = std::getenv("NO_COLOR");
  const std::string saved = before == nullptr ? "" : before;
  ::unsetenv("NO_COLOR");
  CHECK(what_is_seen() == "\x1b[31merror: x\x1b[0m\r\n");
  ::setenv("NO_COLOR", "1", 1);
  CHECK(what_is_seen() == "error: x\r\n");
  if (before == nullptr) {
    ::unsetenv("NO_COLOR");
  } else {
    ::setenv("NO_COLOR", saved.c_str(), 1);
  }
  ::close(shown);
  ::close(terminal);
}

TEST_SUITE_END();
