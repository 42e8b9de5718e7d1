#include "runner/launch/wire.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/error.hpp"
#include "base/process/process.hpp"

namespace ferry {
namespace {

/// A wire whose input is written by the test.
struct Written {
  explicit Written(std::string_view begin = {}) : wire(std::move(input.reader), std::move(output.writer), begin) {}

  void write(std::string_view text) {
    REQUIRE(::write(input.writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    wire.receive();
  }

  Pipe input = make_pipe(), output = make_pipe();
  AgentWire wire;
};

std::string frame(char kind, std::uint32_t size, std::string_view data) {
  std::string text = {kind, 2, 0, 0, 0};
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(size >> shift & 0xff);
  return text.append(data);
}

TEST_CASE("frames come whole, however they arrive") {
  Written side;
  const std::string two = frame(3, 5, "hello") + frame(4, 0, "");
  for (const char byte : two.substr(0, 13)) {
    side.write({&byte, 1});
    CHECK_FALSE(side.wire.next().has_value());
  }
  side.write(two.substr(13));
  const auto first = side.wire.next(), second = side.wire.next();
  REQUIRE(first.has_value());
  CHECK(first->kind == LaunchFrameKind::output);
  CHECK(first->task == 2);
  CHECK(first->data == "hello");
  REQUIRE(second.has_value());
  CHECK(second->kind == LaunchFrameKind::error);
  CHECK_FALSE(side.wire.next().has_value());
}

TEST_CASE("a greeting before an agent's words is dropped") {
  Written side(kAgentBegins);
  side.write("Welcome to h2\nferry launch");
  CHECK_FALSE(side.wire.next().has_value());
  side.write(std::string(kAgentBegins) + frame(3, 1, "x"));
  CHECK(side.wire.next()->data == "x");
}

TEST_CASE("what is no frame is refused before its bytes are kept") {
  Written unknown, huge;
  unknown.write(frame(99, 0, ""));
  CHECK_THROWS_WITH_AS(static_cast<void>(unknown.wire.next()), doctest::Contains("do not understand each other"),
                       Error);
  huge.write(frame(3, 0xffffffff, ""));
  CHECK_THROWS_AS(static_cast<void>(huge.wire.next()), Error);
}

TEST_CASE("an end is noticed, and nothing is written that nobody reads") {
  Written side;
  side.input.writer.close();
  side.wire.receive();
  CHECK(side.wire.closed());
  side.wire.enqueue(LaunchFrameKind::output, 0, "lost");
  CHECK(side.wire.unsent() == 0);
}

TEST_CASE("the last words of one that reads no more are taken") {
  std::signal(SIGPIPE, SIG_IGN);  // as the command does
  Written side;
  side.output.reader.close();
  side.wire.enqueue(LaunchFrameKind::signal, 0, "15");
  side.wire.send();
  CHECK(side.wire.unsent() == 0);
  side.write(frame(3, 5, "hello"));
  side.input.writer.close();
  side.wire.receive();
  CHECK(side.wire.closed());
  CHECK(side.wire.next()->data == "hello");
}

TEST_CASE("what an agent is told arrives as it was said") {
  const StartTasks start{.folder = "/a b",
                         .first = 2,
                         .count = 3,
                         .grace = std::chrono::milliseconds(1500),
                         .command = {"sh", "-c", "", "[x]"},
                         .variables = {"A=1", "B=\xff"}};
  const StartTasks read = StartTasks::of(start.data());
  CHECK(read.folder == start.folder);
  CHECK(read.first == 2);
  CHECK(read.count == 3);
  CHECK(read.grace == start.grace);
  CHECK(read.command == start.command);
  CHECK(read.variables == start.variables);
  const AgentHello hello = AgentHello::of(AgentHello{"0.1.0", "h2", "0-3", ""}.data());
  CHECK(hello.host == "h2");
  CHECK(hello.launcher.empty());
  CHECK_THROWS_AS(static_cast<void>(AgentHello::of("x")), Error);
  CHECK_THROWS_AS(static_cast<void>(StartTasks::of("x")), Error);
}

}  // namespace
}  // namespace ferry
