#include <doctest/doctest.h>

#include "comm/backends.hpp"
#include "tests/comm/ends.hpp"
#include "tests/comm/hosted.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

/// Two processes; the second has tasks 2 and 3; `body` runs on all four.
void on_four(const std::function<void(Transport&)>& body) {
  auto between = inproc_transports(2);
  run_tasks(2, [&](int process) { run_hosted(std::move(between[process]), 4, body, false); });
}

TEST_CASE("each process has a block of tasks") {
  for (int tasks = 1; tasks <= 9; ++tasks) {
    for (int processes = 1; processes <= tasks; ++processes) {
      CHECK(first_task_of(0, tasks, processes) == 0);
      CHECK(first_task_of(processes, tasks, processes) == tasks);
      for (int task = 0; task < tasks; ++task) {
        const int process = process_of_task(task, tasks, processes);
        CHECK(process == task * processes / tasks);
        CHECK(first_task_of(process, tasks, processes) <= task);
        CHECK(task < first_task_of(process + 1, tasks, processes));
      }
    }
  }
}

TEST_CASE("whose process does not come to an exchange is named by its tasks") {
  on_four([](Transport& end) {
    std::vector<std::byte> signal(1);
    if (end.task() < 2) {
      const Deadline soon(system_clock(), std::chrono::milliseconds(50));
      const auto error = error_in([&] { (void)end.exchange("here", soon); });
      REQUIRE(error.has_value());
      CHECK(error->text().starts_with("exchange: tasks 2 and 3 of 4 did not come before the deadline"));
      finish(end, end.send(end.task() + 2, 0, signal));
    } else {
      finish(end, end.receive(end.task() - 2, 0, signal));
    }
    end.close();
  });
}

TEST_CASE("a process that has closed is named by its tasks") {
  on_four([](Transport& end) {
    if (end.task() < 2) {
      const auto error = error_in([&] { (void)end.exchange("here", seconds(20)); });
      REQUIRE(error.has_value());
      CHECK(error->text().starts_with("exchange: tasks 2 and 3 have finished"));
    }
    end.close();
  });
}

TEST_CASE("a process that goes without close has failed") {
  on_four([](Transport& end) {
    if (end.task() < 2) {
      const auto error = error_in([&] { (void)end.exchange("here", seconds(20)); });
      REQUIRE(error.has_value());
      CHECK(error->text().find("without close") != std::string::npos);
      CHECK(end.failure()->task == 2);
    }
  });
}

TEST_CASE("a failure between the processes is that of a task") {
  on_four([](Transport& end) {
    std::vector<std::byte> twelve(12), sixteen(16);
    const auto error = error_in([&] {
      if (end.task() == 1) finish(end, end.send(2, 5, twelve));
      if (end.task() == 2) finish(end, end.receive(1, 5, sixteen));
      (void)end.exchange("", seconds(20));
    });
    REQUIRE(error.has_value());
    CHECK(error->text().find("between task 1 and task 2: ") != std::string::npos);
    CHECK(error->text().find("12 bytes sent, 16 expected") != std::string::npos);
    CHECK(end.failure()->code == Code::bug);
  });
}

TEST_CASE("processes meet while no task runs") {
  auto between = inproc_transports(2);
  run_tasks(2, [&](int process) {
    const HostedTasks job = host_tasks(std::move(between[process]), 5);
    static_cast<void>(job.relay->exchange("", seconds(20)));
    for (const auto& end : job.ends) end->close();
  });
}

}  // namespace
}  // namespace ferry::test
