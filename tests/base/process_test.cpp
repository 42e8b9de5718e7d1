#include "base/process/process.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/process/poll.hpp"

namespace ferry {
namespace {

/// The text written into the pipe until its other end is closed.
std::string all_written(const Descriptor& reader) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(reader.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

/// Starts a shell with these words and the pipe as its stdout.
int start_shell(const std::string& script, Pipe& out, ProgramStart program = {}) {
  program.arguments = {"sh", "-c", script};
  program.out = out.writer.get();
  const int process = start_program(program);
  out.writer.close();
  return process;
}

/// Waits until the child has ended, without telling next_ended_child().
void await(int process) {
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) == 0);
}

TEST_CASE("a program is started with its output, variables and end") {
  setenv("FERRY_TEST_HERE", "here", 1);
  setenv("FERRY_TEST_GONE", "gone", 1);
  Pipe out = make_pipe();
  const int process = start_shell("echo $FERRY_TEST_HERE $FERRY_TEST_GONE $FERRY_TEST_NEW; exit 3", out,
                                  {.arguments = {}, .set = {{"FERRY_TEST_NEW", "a b"}}, .unset = {"FERRY_TEST_GONE"}});
  CHECK(all_written(out.reader) == "here a b\n");
  await(process);
  const auto end = next_ended_child();
  REQUIRE(end.has_value());
  CHECK(end->process == process);
  CHECK(end->code() == 3);
  CHECK(end->text() == "ended with exit code 3");
  CHECK_FALSE(next_ended_child().has_value());
  unsetenv("FERRY_TEST_HERE");
  unsetenv("FERRY_TEST_GONE");
}

TEST_CASE("a signal reaches all of a program's group") {
  Pipe out = make_pipe();
  const int process = start_shell("sleep 1000 & echo; wait", out);
  char line = 0;
  REQUIRE(read(out.reader.get(), &line, 1) == 1);
  signal_group(process, SIGKILL);
  CHECK(all_written(out.reader).empty());  // returns, so the sleep has ended too
  await(process);
  const auto end = next_ended_child();
  REQUIRE(end.has_value());
  CHECK(end->code() == 128 + SIGKILL);
  CHECK(end->text() == "was killed by signal 9 (Killed)");
}

TEST_CASE("a group lives until all of its processes have ended") {
  const auto spared = adopt_orphans();
  Pipe out = make_pipe();
  const int process = start_shell("sleep 1000 & echo; kill -TERM $$", out);
  await(process);
  const auto first = next_ended_child();
  REQUIRE(first.has_value());
  CHECK(first->signal == SIGTERM);
  CHECK(first->group == process);
  CHECK(group_lives(process));
  signal_group(process, SIGUSR1);
  CHECK(all_written(out.reader) == "\n");
  const std::vector<ProcessId> left = child_processes();
  REQUIRE(left.size() == 1);
  await(static_cast<int>(left.front().pid));
  const auto second = next_ended_child();
  REQUIRE(second.has_value());
  CHECK(second->process == left.front().pid);
  CHECK(second->group == process);
  CHECK(second->signal == SIGUSR1);
  CHECK_FALSE(group_lives(process));
  CHECK(spared.empty());
}

TEST_CASE("descendants have handlers and an environment") {
  const auto spared = adopt_orphans();
  Pipe out = make_pipe();
  const int process =
      start_shell("trap : TERM; (NAME=value sleep 1000) & echo; wait", out, {.arguments = {}, .set = {{"EMPTY", ""}}});
  char line = 0;
  REQUIRE(read(out.reader.get(), &line, 1) == 1);
  std::vector<ProcessId> found;
  const auto sleeps = [&] {
    found = descendant_processes();
    return found.size() == 2 && std::ranges::count(first_environment(found[1]), "NAME=value") == 1;
  };
  for (const Deadline deadline(system_clock(), std::chrono::seconds(60)); !sleeps() && !deadline.expired();) continue;
  REQUIRE(found.size() == 2);
  CHECK(found[0].pid == process);
  CHECK(child_processes() == std::vector{found[0]});
  CHECK(std::ranges::count(first_environment(found[0]), "EMPTY=") == 1);
  CHECK(std::ranges::count(first_environment(found[1]), "NAME=value") == 1);
  CHECK(handles_signal(found[0], SIGTERM));
  CHECK_FALSE(handles_signal(found[0], SIGHUP));
  CHECK_FALSE(handles_signal(found[1], SIGTERM));
  kill_descendants(spared);
  CHECK_FALSE(handles_signal(found[0], SIGTERM));
  CHECK(first_environment(found[0]).empty());
}

TEST_CASE("what cannot be started is an error that says why") {
  CHECK_THROWS_WITH_AS(static_cast<void>(start_program({.arguments = {"/no/such/program"}})),
                       doctest::Contains("cannot start \"/no/such/program\": No such file or directory"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(start_program({.arguments = {"/"}})), doctest::Contains("Permission denied"),
                       Error);
  CHECK_FALSE(next_ended_child().has_value());
}

TEST_CASE("descendants are killed even when they have left group and parent") {
  const auto spared = adopt_orphans();
  CHECK(spared.empty());
  Pipe out = make_pipe();
  start_shell("(setsid sh -c 'echo; exec sleep 1000' & ); exec sleep 1000", out);
  char line = 0;
  REQUIRE(read(out.reader.get(), &line, 1) == 1);
  kill_descendants(spared);
  CHECK(all_written(out.reader).empty());
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("children from before are not killed") {
  const int before = start_program({.arguments = {"sleep", "1000"}});
  const auto spared = adopt_orphans();
  REQUIRE(spared.size() == 1);
  CHECK(spared.front().pid == before);
  static_cast<void>(start_program({.arguments = {"sleep", "1000"}}));
  kill_descendants(spared);
  CHECK(child_processes() == spared);
  kill_descendants({});
  CHECK(child_processes().empty());
}

TEST_CASE("signals are queued, and started programs have none blocked") {
  SignalQueue queue({SIGUSR1, SIGCHLD});
  CHECK(queue.next() == 0);
  raise(SIGUSR1);
  std::array watches = {DescriptorWatch{queue.descriptor(), true, false, false}, DescriptorWatch{}};
  wait_ready(watches, Deadline::never(system_clock()));
  CHECK(watches[0].ready);
  CHECK_FALSE(watches[1].ready);
  CHECK(queue.next() == SIGUSR1);
  CHECK(queue.next() == 0);

  Pipe out = make_pipe();
  start_shell("kill -USR1 $$; echo not reached", out);
  CHECK(all_written(out.reader).empty());
  wait_ready(watches, Deadline::never(system_clock()));
  CHECK(queue.next() == SIGCHLD);
  const auto end = next_ended_child();
  REQUIRE(end.has_value());
  CHECK(end->signal == SIGUSR1);
}

TEST_CASE("waiting ends with the deadline") {
  const Pipe silent = make_pipe();
  std::array watches = {DescriptorWatch{silent.reader.get(), true, false, false}};
  wait_ready(watches, Deadline(system_clock(), std::chrono::milliseconds(1)));
  CHECK_FALSE(watches[0].ready);
  never_wait(silent.reader);
  char byte = 0;
  CHECK(read(silent.reader.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
}

}  // namespace
}  // namespace ferry
