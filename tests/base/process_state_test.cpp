#include "base/process/process_state.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include "base/system/clock.hpp"
#include "base/system/machine.hpp"

using namespace ferry;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("base/process_state");

TEST_CASE("the command that started this process is known") {
  CHECK(command_line().find("base_test") != std::string::npos);
}

TEST_CASE("a process runs, is stopped, runs on, and is gone") {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessId self = this_process();
    if (write(ready[1], &self, sizeof self) != sizeof self) _exit(1);
    for (;;) pause();
  }
  ProcessId id;
  REQUIRE(read(ready[0], &id, sizeof id) == sizeof id);
  CHECK(id.pid == child);
  CHECK(state_of(id) == ProcessState::running);
  int status = 0;
  kill(child, SIGSTOP);
  waitpid(child, &status, WUNTRACED);
  CHECK(state_of(id) == ProcessState::stopped);
  kill(child, SIGCONT);
  waitpid(child, &status, WCONTINUED);
  CHECK(state_of(id) == ProcessState::running);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  CHECK(state_of(id) == ProcessState::gone);
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a later process with the same number is another one") {
  ProcessId id = this_process();
  CHECK(state_of(id) == ProcessState::running);
  ++id.start;
  CHECK(state_of(id) == ProcessState::gone);
}

TEST_CASE("a thread that sleeps says in which system call, and on what file") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::atomic<std::int64_t> number{0};
  std::thread reader([&] {
    number = this_thread_number();
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1) {
    }
  });
  std::string told;
  if (system_text("/proc/self/syscall").empty()) {
    MESSAGE("the system does not tell");
  } else {
    for (const TimePoint end = system_clock().now() + 60s; !told.starts_with("read of ") && system_clock().now() < end;
         std::this_thread::yield())
      told = current_system_call(number);
    CHECK(told.starts_with("read of pipe:["));
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  CHECK(current_system_call(-1).empty());
}

TEST_SUITE_END();
