#include "base/system/output.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
  ~Pipe() {
    for (const int end : ends) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::array<int, 2> ends{};
};

constexpr std::size_t kMoreThanAPipe = 300000;

TEST_CASE("a slow reader gets all of a text") {
  Pipe pipe;
  std::string sent(kMoreThanAPipe, 'x'), got;
  sent.back() = '\n';
  std::thread reader([&] {
    std::array<char, 100> some{};
    while (got.empty() || got.back() != '\n') {
      const ssize_t count = ::read(pipe.ends[0], some.data(), some.size());
      if (count <= 0) return;
      got.append(some.data(), static_cast<std::size_t>(count));
    }
  });
  CHECK(write_all(pipe.ends[1], sent) == 0);
  reader.join();
  CHECK(got == sent);
}

TEST_CASE("what nobody reads is dropped once the process is to stop") {
  Pipe pipe;
  request_preemption();
  CHECK(write_all(pipe.ends[1], std::string(kMoreThanAPipe, 'x')) == EAGAIN);
  write_at_once(pipe.ends[1], "more");
  clear_interrupt();
  std::thread asks([] { request_interrupt(SIGINT); });
  CHECK(write_all(pipe.ends[1], std::string(kMoreThanAPipe, 'x')) ==
        EAGAIN);  // the request comes before or during the wait
  asks.join();
  clear_interrupt();
}

TEST_CASE("the error of a write is given") {
  const WithoutWriteSignals no_signals;
  Pipe pipe;
  ::close(pipe.ends[0]);
  CHECK(write_all(pipe.ends[1], "x") == EPIPE);
  pipe.ends[0] = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  CHECK(write_all(pipe.ends[0], "x") == ENOSPC);
}

TEST_CASE("what is printed cannot move a terminal's cursor, colour it or end the text") {
  CHECK(printable("plain\ttext\\\n") == "plain\ttext\\\n");
  CHECK(printable("é → ü") == "é → ü");
  CHECK(printable(std::string("a\x1b[31mb\0c\r\x7f", 11)) == "a\\x1b[31mb\\x00c\\r\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m \xff") == "\\xc2\\x9b31m \\xff");
}

}  // namespace
}  // namespace ferry
