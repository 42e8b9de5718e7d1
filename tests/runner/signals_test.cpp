#include "runner/run/signals.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/system/interrupt.hpp"

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

TEST_CASE("080 the second Ctrl-C ends a run at once") {
  CHECK(end_after(SIGINT, false) == 130);
  CHECK(end_after(SIGINT, true) == 130);
  CHECK(end_after(SIGTERM, false) == 130);
}

TEST_CASE("081 SIGTERM, however often, does not end a run that saves") {
  CHECK(end_after(SIGTERM, true) == 100);
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
