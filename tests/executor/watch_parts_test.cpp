// The parts of the watch without its thread: the sockets, the state that tasks share, and the verdicts.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "executor/watch/peer_sockets.hpp"
#include "executor/watch/stall_detector.hpp"
#include "executor/watch/watch_board.hpp"
#include "tests/support/has.hpp"

using namespace ferry;
using test::has;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("executor/watch parts");

namespace {

/// A job of two tasks, each a process of this host: task 0 waits for task 1, which does nothing. Seen by process
/// `self`.
struct StalledJob {
  explicit StalledJob(int own)
      : self(static_cast<std::size_t>(own)),
        detector({.processes = {0, 1}, .self = own}, 3s,
                 {{.host = "a", .id = {11, 0}, .on_this_machine = true, .name = "0"},
                  {.host = "a", .id = {22, 0}, .on_this_machine = true, .name = "1"}},
                 now) {
    pulses[0].doing = Pulse::Doing::waiting;
    pulses[0].awaited = {1};
    pulses[0].text = "receive of 'w' from task 1";
    pulses[1].task = 1;
    static_cast<void>(pass());
  }

  /// Advances the clock by a tenth of a second, with a heartbeat of both processes. Returns the verdict, if any.
  std::optional<JobVerdict> pass() {
    now += 100ms;
    Heartbeat beat{.process = static_cast<int>(1 - self), .number = ++number};
    beat.pulses = {pulses[1 - self]};
    CHECK(detector.add_heartbeat(beat, now));
    detector.set_pulse(pulses[self]);
    const std::vector<TaskStatus> tasks = detector.make_statuses(now, {false, false});
    excused = detector.count_time(tasks, now);
    return detector.judge(tasks, std::nullopt, now);
  }
  /// The number of calls of pass() before the first verdict, at most 100.
  int passes_without_verdict() {
    for (int passes = 0; passes < 100; ++passes)
      if (pass()) return passes;
    return 100;
  }

  const std::size_t self;
  TimePoint now = TimePoint() + 1h;
  std::int64_t number = 0;
  std::array<Pulse, 2> pulses;
  Duration excused{};
  StallDetector detector;
};

}  // namespace

TEST_CASE("a job in which nothing moves for the deadline is stalled, and time counts while nothing moves") {
  StalledJob job(0);
  CHECK(job.excused == 100ms);  // the pulses were new
  for (int i = 1; i < 30; ++i) {
    CHECK(!job.pass());
    CHECK(job.excused == Duration::zero());
  }
  const auto verdict = job.pass();
  REQUIRE(verdict);
  CHECK(verdict->culprit == 1);
  CHECK(verdict->teller == 0);
  CHECK(verdict->code == Code::stalled);
  CHECK(has(verdict->text, "no progress for 3 s: task 0 (host a, process 11) waits in receive of 'w' from task 1"));
}

TEST_CASE("a step, or a task that computes, lets the deadline begin again") {
  StalledJob job(0);
  for (int i = 0; i < 29; ++i) CHECK(!job.pass());
  ++job.pulses[1].steps;
  CHECK(!job.pass());
  CHECK(job.excused == 100ms);
  for (int i = 0; i < 29; ++i) CHECK(!job.pass());
  job.pulses[1].busy = true;
  CHECK(!job.pass());
  CHECK(job.excused == 100ms);
  job.pulses[1].busy = false;
  CHECK(job.passes_without_verdict() == 29);
}

TEST_CASE("a process lets one with a lower number reach the verdict first, as long as it hears from it") {
  CHECK(StalledJob(0).passes_without_verdict() == 29);
  CHECK(StalledJob(1).passes_without_verdict() == 30);
  StalledJob stopped(1);
  stopped.detector.set_state(0, ProcessState::traced, stopped.now);
  CHECK(stopped.passes_without_verdict() == 100);  // somebody looks at it with a debugger
  stopped.detector.set_state(0, ProcessState::stopped, stopped.now);
  CHECK(stopped.passes_without_verdict() == 29);
}

TEST_CASE("old heartbeats, own heartbeats and heartbeats of no process do not count") {
  StalledJob job(0);
  Pulse moved = job.pulses[1];
  ++moved.steps;
  const auto hears = [&](std::int64_t process, std::int64_t number) {
    Heartbeat beat{.process = process, .number = number};
    beat.pulses = {moved};
    return job.detector.add_heartbeat(beat, job.now);
  };
  CHECK(!hears(1, job.number - 1));
  CHECK(!hears(0, job.number + 1));
  CHECK(!hears(2, job.number + 1));
  CHECK(!hears(-1, job.number + 1));
  CHECK(job.detector.pulse(1).steps == 0);
  CHECK(hears(1, job.number));
  CHECK(job.detector.pulse(1).steps == 1);
  moved.task = 2;
  CHECK(hears(1, job.number));
}

TEST_CASE("a task of another host that is not heard from is lost, unless this process itself stood still") {
  TimePoint now = TimePoint() + 1h;
  StallDetector detector({.processes = {0, 1}, .self = 0}, 60s,
                         {{.host = "a", .on_this_machine = true, .name = "0"},
                          {.host = "b", .on_this_machine = false, .name = "1", .socket = 1}},
                         now);
  Pulse waits;
  waits.doing = Pulse::Doing::waiting;
  waits.awaited = {1};
  detector.set_pulse(waits);
  const auto judge = [&] { return detector.judge(detector.make_statuses(now, {false, false}), std::nullopt, now); };
  CHECK(!detector.make_statuses(now, {false, false})[1].known);
  Heartbeat beat{.process = 1, .number = 1};
  CHECK(detector.add_heartbeat(beat, now));
  CHECK(detector.unheard(now).empty());
  now += kPatience + 100ms;
  CHECK(detector.unheard(now) == std::vector<std::int64_t>{1});
  CHECK(judge());
  CHECK(detector.make_statuses(now, {false, true})[1].pulse.doing == Pulse::Doing::left);
  detector.reset_silence(now);
  CHECK(!judge());
}

TEST_CASE("a heartbeat of many tasks goes in several datagrams, each with the verdict") {
  Heartbeat beat{.generation = 2, .process = 5, .number = 99};
  beat.unheard = {3, 4};
  beat.verdict = {.culprit = 1, .teller = 2, .code = Code::peer_lost, .text = "task 1 is gone"};
  for (int task = 0; task < 100; ++task) beat.pulses.emplace_back().task = task;
  const std::vector<std::string> datagrams = packed(beat);
  CHECK(datagrams.size() > 5);
  int task = 0;
  for (const std::string& datagram : datagrams) {
    CHECK(datagram.size() < 1400);
    BlobReader reader(datagram);
    CHECK(reader.number() == kHeartbeat);
    const Heartbeat read = read_heartbeat(reader);
    CHECK(read.generation == 2);
    CHECK(read.process == 5);
    CHECK(read.number == 99);
    CHECK(read.unheard == beat.unheard);
    REQUIRE(read.verdict);
    CHECK(read.verdict->code == Code::peer_lost);
    CHECK(read.verdict->text == "task 1 is gone");
    for (const Pulse& pulse : read.pulses) CHECK(pulse.task == task++);
  }
  CHECK(task == 100);
}

TEST_CASE("the first verdict stays until the job starts again, and later starts have verdicts of their own") {
  WatchBoard board(2);
  CHECK(!board.over());
  CHECK(!board.over_within(Duration::zero()));
  const Deadline deadline(board.clock(), 1h);
  board.adopt({.culprit = 1, .text = "the first"}, board.generation());
  board.adopt({.culprit = 0, .text = "the second"});
  CHECK(board.over_within(Duration::zero()));
  CHECK(board.verdict()->text == "the first");
  CHECK(deadline.expired());
  const std::int64_t before = board.generation();
  board.reset();
  CHECK(!board.over());
  CHECK(!deadline.expired());
  board.adopt({.text = "of before"}, before);
  CHECK(!board.verdict());
  board.adopt({.text = "of now"}, board.generation());
  CHECK(board.verdict()->text == "of now");
}

TEST_CASE("the loss of a task is reported once") {
  WatchBoard board(3);
  board.spare(std::array{1, 2});
  CHECK(!board.is_spared(0));
  CHECK(board.is_spared(1));
  CHECK(board.take_losses().empty());
  for (int i = 0; i < 2; ++i) board.add_loss({2, "it is gone"});
  const auto losses = board.take_losses();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].task == 2);
  CHECK(board.take_losses().empty());
  board.set_lost(1);
  CHECK(board.lost() == std::vector<bool>{false, true, true});
}

TEST_CASE("datagrams reach all other processes of the job, and none that others send count") {
  auto ends = inproc_transports(3);
  std::vector<std::optional<PeerSockets>> sockets(3);
  std::vector<std::thread> meeting;
  for (int process = 0; process < 3; ++process)
    meeting.emplace_back(
        [&, process] { sockets[process].emplace(*ends[process], process, "", Deadline(system_clock(), 60s)); });
  for (std::thread& thread : meeting) thread.join();
  for (auto& end : ends) end->close();
  const PeerSockets& first = *sockets[0];
  REQUIRE(first.processes().size() == 3);
  CHECK(first.processes()[1].on_this_machine);
  CHECK(first.processes()[1].id == this_process());
  CHECK(!first.has_udp());

  const auto stranger = DatagramSocket::local();
  CHECK(stranger.send(first.processes()[2].name, "x"));
  CHECK(stranger.send(first.processes()[2].name, std::string(100, 'x')));
  first.send_to_all("to all");
  first.send(2, "to one");
  first.send(3, "to none");
  const auto heard = [&](std::size_t process) {
    std::vector<std::string> all;
    sockets[process]->receive([&](std::string_view datagram) { all.emplace_back(datagram); });
    return all;
  };
  CHECK(heard(0).empty());
  CHECK(heard(1) == std::vector<std::string>{"to all"});
  CHECK(heard(2) == std::vector<std::string>{"to all", "to one"});
}

TEST_SUITE_END();
