#include "executor/watch/verdict.hpp"

#include <doctest/doctest.h>

#include "tests/support/has.hpp"

using namespace ferry;
using test::has;
using namespace std::chrono_literals;
using Doing = Pulse::Doing;

TEST_SUITE_BEGIN("executor/verdict");

namespace {

/// Tasks on the hosts "a", "a", "b", "b", "c", "c" …, seen from task 0, all computing.
std::vector<TaskStatus> job(int tasks) {
  std::vector<TaskStatus> all;
  for (int i = 0; i < tasks; ++i) {
    TaskStatus& task = all.emplace_back();
    task.pulse.task = i;
    task.pulse.doing = Doing::computing;
    task.pulse.busy = true;
    task.pulse.text = "MatMul \"h\" at m.cpp:4";
    task.host = std::string(1, static_cast<char>('a' + i / 2));
    task.on_this_machine = i < 2;
    task.pid = 100 + i;
  }
  return all;
}

void waits(TaskStatus& task, std::vector<std::int64_t> awaited, std::uint64_t collective_key = 0) {
  task.pulse.doing = Doing::waiting;
  task.pulse.busy = false;
  task.pulse.awaited = std::move(awaited);
  task.pulse.collective_key = collective_key;
  task.pulse.text = "receive of \"w\" at m.cpp:3";
  task.pulse.age = 61s;
}

void goes_outside(TaskStatus& task) {
  task.pulse.doing = Doing::outside;
  task.pulse.busy = false;
  task.pulse.age = 70s;
}

/// Host 'b' or 'c' is silent, and nobody on the other hosts hears it.
void falls_silent(std::vector<TaskStatus>& tasks, const std::string& host) {
  for (TaskStatus& task : tasks)
    if (task.host == host) task.silent = 3s;
  for (TaskStatus& task : tasks)
    for (const TaskStatus& other : tasks)
      if (task.host != host && other.host == host) task.unheard.push_back(other.pulse.task);
}

}  // namespace

TEST_CASE("tasks that share a process are shards, with the number of the task that users have started") {
  auto tasks = job(8);
  for (TaskStatus& task : tasks) task.process = task.pulse.task / 2;
  waits(tasks[0], {5});
  tasks[5].pulse.doing = Doing::inside;
  tasks[5].pulse.busy = false;
  const auto stalled = judge_stalled(tasks, 60s);
  REQUIRE(stalled);
  CHECK(has(stalled->text,
            ": shard 0 (task 0, host a, process 100) waits in receive of \"w\" at m.cpp:3, for 61 s, and "
            "shard 5 (task 2, host c, process 105) is in "));
  CHECK(has(stalled->text,
            "\n  with --invariant, each task of a graph or of its ops is a shard\n  try: look at what task 2 is"));
  falls_silent(tasks, "c");
  const auto silent = judge_lost(tasks, 0, kPatience);
  REQUIRE(silent);
  CHECK(has(silent->text, "task 2 of host c cannot be heard for 3 s"));
}

TEST_CASE("a task of another host that has ended is named with its host, and with the ops that wait for it") {
  auto tasks = job(4);
  waits(tasks[0], {2});
  const JobVerdict verdict =
      judge_ended(tasks, {.task = 2, .code = Code::peer_lost, .text = "its connection has ended"}, 0);
  CHECK(verdict.culprit == 2);
  CHECK(verdict.teller == 0);
  CHECK(
      has(verdict.text, "task 2 (host b, process 102) is gone: its connection has ended; it was last seen in MatMul"));
  CHECK(has(verdict.text, "task 0 (host a, process 100) waits in receive of \"w\" at m.cpp:3, for 61 s"));
}

TEST_CASE("a task that is gone ends the job, once what it said last has come") {
  auto tasks = job(2);
  tasks[1].state = ProcessState::gone;
  CHECK(!judge_lost(tasks, 0, kPatience));
  tasks[1].state_age = kGoneGrace;
  CHECK(judge_lost(tasks, 0, kPatience));
  waits(tasks[0], {1});
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 1);
  CHECK(verdict->teller == 0);
  CHECK(verdict->code == Code::peer_lost);
  CHECK(verdict->text ==
        "task 1 (host a, process 101) is gone: it was killed, it crashed, or it ended before the job was done; it was "
        "last seen in MatMul \"h\" at "
        "m.cpp:4\n"
        "  task 0 (host a, process 100) waits in receive of \"w\" at m.cpp:3, for 61 s\n"
        "  try: see its last output; the system kills a process when memory runs out (see dmesg)");
}

TEST_CASE("a task that has left the job, or is under a debugger, is not lost") {
  auto tasks = job(2);
  waits(tasks[0], {1});
  tasks[1].state = ProcessState::gone;
  tasks[1].state_age = 1h;
  tasks[1].pulse.doing = Doing::left;
  CHECK(!judge_lost(tasks, 0, kPatience));
  tasks[1].pulse.doing = Doing::computing;
  tasks[1].state = ProcessState::traced;
  tasks[1].state_age = 1h;
  CHECK(!judge_lost(tasks, 0, kPatience));
}

TEST_CASE("a job that waits for a task that has left has lost it") {
  auto tasks = job(2);
  waits(tasks[0], {1});
  tasks[1].pulse.doing = Doing::left;
  tasks[1].pulse.busy = false;
  const auto verdict = judge_stalled(tasks, 60s);
  REQUIRE(verdict);
  CHECK(verdict->code == Code::peer_lost);
  CHECK(has(verdict->text, "task 1 (host a, process 101) has left the job"));
}

TEST_CASE("a stopped task ends the job after a while, once another one waits for it") {
  auto tasks = job(2);
  tasks[1].state = ProcessState::stopped;
  tasks[1].state_age = 1h;
  CHECK(!judge_lost(tasks, 0, kPatience));
  waits(tasks[0], {1});
  tasks[1].state = ProcessState::stopped;
  tasks[1].state_age = 2s;
  CHECK(!judge_lost(tasks, 0, kPatience));
  tasks[1].state_age = 2300ms;
  tasks[1].silent = 2400ms;
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(verdict->code == Code::stalled);
  CHECK(has(verdict->text, "task 1 (host a, process 101) was stopped (SIGSTOP or Ctrl-Z) 2.3 s ago"));
}

TEST_CASE("a task that is slowed by stopping it again and again is not lost, though each look finds it stopped") {
  auto tasks = job(2);
  waits(tasks[0], {1});
  tasks[1].state = ProcessState::stopped;
  tasks[1].state_age = 1h;
  tasks[1].silent = 300ms;
  CHECK(!judge_lost(tasks, 0, kPatience));
  tasks[1].silent = kPatience;
  CHECK(judge_lost(tasks, 0, kPatience));
}

TEST_CASE("a host that nobody hears from is down, and its tasks are named") {
  auto tasks = job(6);
  waits(tasks[0], {2});
  falls_silent(tasks, "b");
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 2);
  CHECK(verdict->code == Code::peer_lost);
  CHECK(
      has(verdict->text,
          "tasks 2 and 3 of host b cannot be heard for 3 s: they were stopped (SIGSTOP or Ctrl-Z), or the host or its "
          "network is down; it was last seen in MatMul"));
}

TEST_CASE("a silent task is stopped if other tasks of its host can be heard, and these come to the verdict first") {
  auto tasks = job(6);
  waits(tasks[0], {3});
  waits(tasks[2], {3});
  tasks[3].silent = 3s;
  for (const std::size_t other : {0, 1, 4, 5}) tasks[other].unheard.push_back(3);
  CHECK(!judge_lost(tasks, 0, kPatience));  // task 2 sees that the process of task 3 is stopped
  tasks[3].silent = 4s;
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 3);
  CHECK(verdict->code == Code::stalled);
  CHECK(
      verdict->text.starts_with("task 3 (host b, process 103) cannot be heard for 4 s, but other tasks of host b "
                                "can: it was stopped (SIGSTOP or Ctrl-Z), or it was killed; it was last seen in"));
  CHECK(has(verdict->text, "\n  task 2 (host b, process 102) waits in receive"));
  CHECK(has(verdict->text, "\n  try: look at this process on host b (in the output of ps, T marks"));
  tasks[2].pulse.doing = Doing::left;  // its last heartbeat does not show that the host is up
  tasks[3].silent = 3s;
  const auto alone = judge_lost(tasks, 0, kPatience);
  REQUIRE(alone);
  CHECK(alone->code == Code::peer_lost);
  CHECK(
      has(alone->text, "task 3 of host b cannot be heard for 3 s: it was stopped (SIGSTOP or Ctrl-Z), or the host or"));
}

TEST_CASE("where another host still hears the silent one, the link is to blame") {
  auto tasks = job(6);
  waits(tasks[0], {2});
  tasks[2].silent = tasks[3].silent = 3s;
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(has(verdict->text,
            "the link from host b to host a is cut: tasks 2 and 3 cannot be heard here for 3 s, but task 4"));
}

TEST_CASE("a host that hears from no other is itself cut off") {
  auto tasks = job(6);
  waits(tasks[0], {2});
  falls_silent(tasks, "b");
  falls_silent(tasks, "c");
  const auto verdict = judge_lost(tasks, 0, kPatience);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 0);
  CHECK(has(verdict->text, "host a is cut off: it has heard from no other host for 3 s"));
}

TEST_CASE("a task that computes keeps nobody from waiting") {
  auto tasks = job(3);
  waits(tasks[0], {1});
  waits(tasks[1], {2});
  CHECK(!judge_stalled(tasks, 60s));
}

TEST_CASE("what keeps the others waiting is found through those that wait, too") {
  auto tasks = job(3);
  waits(tasks[0], {1});
  waits(tasks[1], {2});
  goes_outside(tasks[2]);
  const auto verdict = judge_stalled(tasks, 60s);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 2);
  CHECK(verdict->teller == 0);
  CHECK(has(verdict->text, "no progress for 60 s: task 0 (host a, process 100) waits in receive"));
  CHECK(has(verdict->text,
            "and task 2 (host b, process 102) is in the program's own code, outside of the session, and computes "
            "nothing, for 70 s"));
}

TEST_CASE("of a collective's members the one that has not come is named") {
  auto tasks = job(4);
  waits(tasks[0], {1, 2, 3}, 7);
  waits(tasks[1], {0, 2, 3}, 7);
  goes_outside(tasks[2]);
  waits(tasks[3], {0, 1, 2}, 7);
  const auto verdict = judge_stalled(tasks, 60s);
  REQUIRE(verdict);
  CHECK(verdict->culprit == 2);
}

TEST_CASE("a job that waits for its next request does not stand still, unless a request is under way") {
  auto tasks = job(4);
  for (TaskStatus& task : tasks) goes_outside(task);
  CHECK(!awaits_request(tasks));
  const auto calls = [&](int task) {
    tasks[task].pulse.doing = Doing::inside;
    tasks[task].pulse.awaited = {0, 3};
  };
  calls(1);
  CHECK(awaits_request(tasks));
  calls(2);
  CHECK(awaits_request(tasks));
  calls(0);
  CHECK(awaits_request(tasks));  // task 3 may make requests, too
  tasks[3].silent = 3s;
  CHECK(!awaits_request(tasks));
  tasks[3].silent = 0s;
  for (const ProcessState state : {ProcessState::gone, ProcessState::stopped}) {
    tasks[3].state = state;
    CHECK(!awaits_request(tasks));
  }
  tasks[3].state = ProcessState::running;
  tasks[3].known = false;
  CHECK(!awaits_request(tasks));
  tasks[3].known = true;
  calls(3);
  CHECK(!awaits_request(tasks));  // all have come
  goes_outside(tasks[0]);
  tasks[2].pulse.awaited.clear();
  CHECK(!awaits_request(tasks));  // task 2 is in the middle of a call
  calls(2);
  waits(tasks[3], {2});
  CHECK(!awaits_request(tasks));  // task 3 waits in a step for task 2, which does not come
  tasks[3].pulse.doing = Doing::left;
  CHECK(awaits_request(tasks));
}

TEST_CASE("tasks that wait for one another are told as such") {
  auto tasks = job(2);
  waits(tasks[0], {1});
  waits(tasks[1], {0});
  const auto verdict = judge_stalled(tasks, 60s);
  REQUIRE(verdict);
  CHECK(has(verdict->text, "; task 1 (host a, process 101) waits in"));
  CHECK(verdict->text.find("does not arrive") == std::string::npos);
}

TEST_CASE("where tasks of several hosts wait for one another, a message between these is lost") {
  auto tasks = job(6);
  waits(tasks[0], {4});
  waits(tasks[4], {1});
  waits(tasks[1], {0});
  for (const std::size_t other : {2, 3, 5}) waits(tasks[other], {0});
  const auto verdict = judge_stalled(tasks, 60s);
  REQUIRE(verdict);
  CHECK(has(verdict->text,
            "\n  all of them wait, each for another: a message between the hosts a, c does not arrive\n"
            "  try: see what the network between these hosts loses (ip -s link, nstat -az TcpRetransSegs)"));
  goes_outside(tasks[1]);
  CHECK(judge_stalled(tasks, 60s)->text.find("does not arrive") == std::string::npos);
}

TEST_SUITE_END();
