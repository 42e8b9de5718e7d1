#include "runner/run/signals.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

/// The exit code of a process that sends itself the signal twice; 100 when neither ends it.
int end_after(int signal, bool saves) {
  const pid_t child = ::fork();
  if (child == 0) {
    const SignalGuard guard(saves);
    ::raise(signal);
    ::raise(signal);
    ::_exit(100);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// The output on a signal of a process with that task's number in its log.
std::string said_on(int signal, bool saves, int task, bool joined = true) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    log_task(task);
    SignalGuard guard(saves);
    if (joined) guard.joined();
    ::raise(signal);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 256> bytes;
  for (ssize_t count = 0; (count = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
    said.append(bytes.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return said;
}

TEST_CASE("what a task says when it is asked to stop has its number") {
  CHECK(said_on(SIGINT, false, 12) == "[task 12] stopping (again: at once)\n");
  CHECK(said_on(SIGTERM, true, 0) == "[task 0] saving a checkpoint, then stopping (Ctrl-C: without)\n");
  CHECK(said_on(SIGTERM, true, 0, false) == "[task 0] stopping after a signal (Ctrl-C: at once)\n");
  CHECK(said_on(SIGTERM, false, 12) == "[task 12] stopping after a signal (Ctrl-C: at once)\n");
  CHECK(said_on(SIGINT, false, -1) == "stopping (again: at once)\n");
}

TEST_CASE("SIGUSR1 saves a checkpoint, and SIGHUP acts like SIGTERM unless it is ignored") {
  CHECK(said_on(SIGUSR1, true, 0) == "[task 0] saving a checkpoint, then continuing\n");
  const auto inherited = std::signal(SIGHUP, SIG_DFL);  // the tests may run under nohup
  CHECK(said_on(SIGHUP, true, 0) == said_on(SIGTERM, true, 0));
  CHECK(said_on(SIGHUP, false, 12) == said_on(SIGTERM, false, 12));
  std::signal(SIGHUP, SIG_IGN);
  CHECK(said_on(SIGHUP, true, 0).empty());
  std::signal(SIGHUP, inherited);
  const auto own = std::signal(SIGUSR1, [](int) {});
  CHECK(said_on(SIGUSR1, true, 0).empty());  // the program's own handler
  std::signal(SIGUSR1, own);
  const std::int64_t saves = saves_requested();
  {
    const SignalGuard guard(true);
    ::raise(SIGUSR1);
    CHECK_FALSE(preemption_requested());
  }
  CHECK(saves_requested() == saves + 1);
}

TEST_CASE("SIGTERM interrupts the wait for other tasks, and makes a run save once they have come") {
  SignalGuard guard(true);
  ::raise(SIGTERM);
  CHECK(interrupt_requested() == SIGTERM);
  CHECK(preemption_requested());
  guard.joined();
  CHECK(interrupt_requested() == 0);
  CHECK(preemption_requested());
  clear_interrupt();
  ::raise(SIGTERM);
  CHECK(interrupt_requested() == 0);
  CHECK(preemption_requested());
  clear_interrupt();
}

TEST_CASE("080 the second Ctrl-C ends a run at once") {
  CHECK(end_after(SIGINT, false) == 130);
  CHECK(end_after(SIGINT, true) == 130);
}

TEST_CASE("081 SIGTERM, however often, leaves a run the time to end by itself") {
  CHECK(end_after(SIGTERM, true) == 100);
  CHECK(end_after(SIGTERM, false) == 100);
}

TEST_CASE("the first Ctrl-C asks a run to stop, and handlers are given back") {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const SignalGuard guard(false);
    ::raise(SIGINT);
    CHECK(interrupt_requested() == SIGINT);
  }
  ::raise(SIGINT);  // ignored again
  clear_interrupt();
  std::signal(SIGINT, before);
}

}  // namespace
}  // namespace ferry
