#include "runner/launch/job_ends.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

namespace ferry {
namespace {

constexpr ProcessEnd ended_with(int code) {
  return {.process = 1, .exit_code = code, .signal = 0};
}

TEST_CASE("a job ends with its first failure") {
  JobEnds ends;
  CHECK_FALSE(ends.add(0, "h1", ended_with(0)));
  CHECK_FALSE(ends.first().has_value());
  CHECK(ends.add(1, "h1", {.process = 1, .exit_code = 0, .signal = SIGKILL}));
  CHECK(ends.add(2, "h1", ended_with(7)));
  REQUIRE(ends.first().has_value());
  CHECK(ends.first()->code == 137);
  CHECK(ends.first()->text == "task 1 on h1 was killed by signal 9 (Killed)");
}

TEST_CASE("a task that has lost another one is not the first, when the other's host tells later") {
  JobEnds ends;
  ends.add(0, "h1", ended_with(5));
  CHECK(ends.first()->code == 5);
  ends.add(1, "h1", ended_with(7));
  CHECK(ends.first()->code == 5);
  ends.add(2, "h2", ended_with(8));
  CHECK(ends.first()->text == "task 2 on h2 ended with exit code 8");
}

TEST_CASE("tasks that the launcher ends have not failed first") {
  JobEnds ends;
  ends.add(0, "h1", ended_with(5));
  ends.begin_shutdown();
  ends.add(1, "h2", {.process = 1, .exit_code = 0, .signal = SIGTERM});
  CHECK(ends.first()->code == 5);

  JobEnds stopped;
  stopped.begin_shutdown();
  stopped.add(1, "h2", {.process = 1, .exit_code = 0, .signal = SIGTERM});
  CHECK(stopped.first()->code == 143);
}

TEST_CASE("what a job has gone on without is no failure, unless the job fails for it") {
  constexpr ProcessEnd killed{.process = 1, .exit_code = 0, .signal = SIGKILL};
  JobEnds ends;
  ends.add_loss(2, "h2", killed);
  ends.add_loss(Error(Code::peer_lost, "host h3: the connection is lost"), "h3");
  CHECK_FALSE(ends.first().has_value());
  CHECK(ends.lost() ==
        std::vector<std::string>{"task 2 on h2 was killed by signal 9 (Killed)", "host h3: the connection is lost"});
  JobEnds failed = ends;
  ends.add(0, "h1", ended_with(5));
  CHECK(ends.first()->code == 137);
  failed.add(0, "h1", ended_with(8));
  CHECK(failed.first()->code == 8);
}

}  // namespace
}  // namespace ferry
