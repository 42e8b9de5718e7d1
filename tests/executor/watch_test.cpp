#include "executor/watch/watch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <thread>

#include "base/system/interrupt.hpp"
#include "comm/failure.hpp"
#include "tests/support/has.hpp"
#include "tests/support/log_text.hpp"

using namespace ferry;
using test::has;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("executor/watch");

namespace {

/// A plan that computes, or does not.
class SomePlan final : public RunningPlan {
 public:
  explicit SomePlan(bool computes) : computes_(computes) {}
  [[nodiscard]] std::uint64_t progress_tag() const override { return 1; }
  [[nodiscard]] std::optional<std::string> computes(bool) const override {
    return computes_ ? std::optional<std::string>("MatMul \"h\"") : std::nullopt;
  }

 private:
  const bool computes_;
};

/// Two processes of a job, played by threads: body(watch, task) runs on each.
void on_two(Duration deadline, const std::function<void(Watch&, int)>& body) {
  auto ends = inproc_transports(2);
  const auto play = [&](int task) {
    Watch watch({.processes = {0, 1}, .self = task, .deadline = deadline, .gathered = true}, *ends[task],
                Deadline(system_clock(), 60s));
    body(watch, task);
    static_cast<void>(
        ends[task]->exchange("", Deadline(system_clock(), 60s)));  // nobody leaves before the other is done
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  for (auto& end : ends) end->close();
}

void wait_until_over(const Watch& watch) {
  REQUIRE(watch.over_within(60s));
}

}  // namespace

TEST_CASE("a spared task that cannot be reached is no verdict: the transport is told") {
  on_two(60s, [](Watch& watch, int task) {
    if (task == 1) return;
    const Error lost(Code::peer_lost, "lost");
    const Failure failure{.task = 1, .code = Code::peer_lost, .text = "no answer", .unreached_by = 0};
    watch.spare(std::array{1});
    static_cast<void>(watch.explained(lost, 0, failure));
    std::vector<Losses::Loss> found;
    while ((found = watch.found_lost()).empty()) REQUIRE(!watch.over_within(10ms));
    REQUIRE(found.size() == 1);
    CHECK(found[0].task == 1);
    CHECK(has(found[0].why, "is lost: no answer"));
    CHECK(watch.found_lost().empty());
    CHECK(!watch.over());
  });
}

TEST_CASE("a task outside of the session that another one waits for is named, once, on both") {
  on_two(300ms, [](Watch& watch, int task) {
    const SomePlan plan(false);
    if (task == 0) {
      const Position::Run run(&watch.position(0), plan);
      watch.position(0).begin_wait({.text = "receive of \"w\" from task 1", .tasks = {1}});
      wait_until_over(watch);
    } else {
      wait_until_over(watch);
    }
    const Error error = watch.verdict(task);
    CHECK(error.code() == Code::stalled);
    CHECK(has(error.text(), "waits in receive of \"w\" from task 1"));
    CHECK(has(error.text(), "is in the program's own code, outside of the session, and computes nothing"));
    CHECK(error.is_told_elsewhere() == (task == 1));
    CHECK(watch.teller() == 0);
    CHECK(watch.explained(Error(Code::peer_lost, "task 0 failed first"), task, std::nullopt).text() == error.text());
  });
}

TEST_CASE("a task that finds first that it has waited for the deadline says what the watch knows") {
  on_two(1h, [](Watch& watch, int task) {
    if (task == 0) {
      const SomePlan plan(false);
      const Position::Run run(&watch.position(0), plan);
      watch.position(0).begin_wait({.text = "receive of \"w\" from task 1", .tasks = {1}});
      while (watch.statuses()[0].pulse.doing != Pulse::Doing::waiting) static_cast<void>(watch.over_within(10ms));
      const Error error = watch.explained({Code::stalled, "no progress for 3601 s"}, 0, std::nullopt);
      CHECK(has(error.text(), "and task 1 (host "));
      CHECK(has(error.text(), "is in the program's own code, outside of the session, and computes nothing"));
    }
    wait_until_over(watch);
    CHECK(watch.verdict(task).is_told_elsewhere() == (task == 1));
  });
}

TEST_CASE("of two connections that were lost at once one is named, once, and no task is blamed") {
  on_two(1h, [](Watch& watch, int task) {
    const Failure failure{.task = 1 - task, .code = Code::peer_lost, .text = "no answer", .unreached_by = task};
    const Error error = watch.explained(error_of(failure), task, failure);
    CHECK(error.code() == Code::peer_lost);
    CHECK(error.text().starts_with("the connection from task 0 (host "));
    CHECK(has(error.text(), ") to task 1 (host "));
    CHECK(has(error.text(), ") is lost: no answer"));
    CHECK(error.is_told_elsewhere() == (task == 1));
  });
}

TEST_CASE("a verdict that its teller has not asked for is printed when the teller ends") {
  test::LogText log;
  {
    Watch watch({.processes = {0, 0}, .self = 0, .deadline = 1ms});
    const SomePlan plan(false);
    const Position::Run run(&watch.position(1), plan);
    watch.position(1).begin_wait({.text = "receive of \"w\"", .tasks = {0}});
    wait_until_over(watch);
    CHECK(log.text.empty());
  }
  CHECK(has(log.text, "waits in receive of \"w\""));
}

TEST_CASE("a job that is asked to stop says so once, and blames nobody for having ended") {
  on_two(1h, [](Watch& watch, int task) {
    request_interrupt(SIGTERM);
    const Failure failure{.task = 0, .code = Code::peer_lost, .text = "the process ended"};
    const Error error = task == 0 ? watch.explained({Code::interrupted, "interrupted by signal 15"}, 0, std::nullopt)
                                  : watch.explained(error_of(failure), 1, failure);
    CHECK(error.code() == Code::interrupted);
    CHECK(error.text() == "interrupted by signal 15");
    CHECK(error.is_told_elsewhere() == (task == 1));
  });
  clear_interrupt();
}

TEST_CASE("a lost connection is not blamed on the task at its other end, by that task neither") {
  on_two(1h, [](Watch& watch, int task) {
    const Failure failure{.task = 1, .code = Code::peer_lost, .text = "no answer", .unreached_by = 0};
    const Error error = watch.explained(error_of(failure), task, failure);
    CHECK(error.text().starts_with("the connection from task 0 (host "));
    CHECK(error.is_told_elsewhere() == (task == 1));
  });
}

TEST_CASE("while a task computes, the job's clock stands still and nobody is blamed") {
  on_two(1ms, [](Watch& watch, int task) {
    const SomePlan plan(task == 1);
    const Position::Run run(&watch.position(task), plan);
    if (task == 0) watch.position(0).begin_wait({.text = "receive", .tasks = {1}});
    const TimePoint begin = system_clock().now(), begin_of_job = watch.clock().now();
    CHECK(!watch.over_within(1s));
    const Duration passed = watch.clock().now() - begin_of_job;
    CHECK(passed < system_clock().now() - begin);
  });
}

TEST_CASE("while a task waits for the next request of another, the job's clock stands still, until the call begins") {
  on_two(1h, [](Watch& watch, int task) {
    if (task == 0) return;  // in its own code
    const std::int32_t requesters[] = {0};
    const Position::Call call(&watch.position(1), "a call of the session", requesters);
    const TimePoint begin = system_clock().now(), begin_of_job = watch.clock().now();
    CHECK(!watch.over_within(1s));
    const Duration passed = watch.clock().now() - begin_of_job;
    CHECK(passed < (system_clock().now() - begin) / 2);
    watch.position(1).set_all_called();
    const Deadline patience(system_clock(), 60s);
    while (watch.clock().now() - begin_of_job < passed + 300ms && !patience.expired())
      static_cast<void>(watch.over_within(10ms));
    CHECK(!patience.expired());
  });
}

TEST_CASE("between two steps a task does nothing of its plan") {
  Position position(0);
  const SomePlan plan(false);
  const Position::Call call(&position, "run()");
  const Position::Run run(&position, plan);
  const auto doing = [&] { return position.pulse(system_clock().now(), false).doing; };
  CHECK(doing() == Pulse::Doing::computing);
  {
    const Position::Between between(&position);
    CHECK(doing() == Pulse::Doing::inside);
  }
  CHECK(doing() == Pulse::Doing::computing);
}

TEST_CASE("a task that works on a direct call does not wait, and moving bytes are progress") {
  Position position(0);
  position.begin_wait({.text = "all_reduce of float32[9]", .tasks = {1}, .call_key = 5});
  const auto pulse = [&] { return position.pulse(system_clock().now(), false); };
  const Position::Phase works(&position, true);
  CHECK(pulse().doing == Pulse::Doing::waiting);  // it may have begun just now
  const Pulse working = pulse();
  CHECK(working.doing == Pulse::Doing::computing);
  CHECK(working.busy);
  CHECK(working.text == "all_reduce of float32[9]");
  {
    const Position::Phase rests(&position, false);
    CHECK(pulse().doing == Pulse::Doing::waiting);
    const Pulse resting = pulse();
    CHECK(resting.doing == Pulse::Doing::waiting);
    position.moves();
    CHECK(!pulse().has_same_state(resting));
  }
  CHECK(pulse().doing == Pulse::Doing::waiting);
  CHECK(pulse().doing == Pulse::Doing::computing);
}

TEST_CASE("a verdict ends all deadlines of the job's clock, until the job begins anew") {
  Watch watch({.processes = {0, 0}, .self = 0, .deadline = 1ms});
  const Deadline deadline(watch.clock(), 1h);
  {
    const SomePlan plan(false);
    const Position::Run run(&watch.position(1), plan);
    watch.position(1).begin_wait({.text = "receive of \"w\"", .tasks = {0}});
    wait_until_over(watch);
  }
  CHECK(deadline.expired());
  CHECK(watch.teller() == 1);
  watch.restart();
  CHECK(!watch.over());
  CHECK(!deadline.expired());
}

TEST_CASE("a pulse survives the way to another process") {
  Pulse pulse;
  pulse.task = 3;
  pulse.doing = Pulse::Doing::waiting;
  pulse.busy = true;
  pulse.steps = 17;
  pulse.progress_tag = UINT64_MAX;
  pulse.age = 5s;
  pulse.collective_key = 99;
  pulse.awaited = {0, 4};
  pulse.text = "receive";
  BlobWriter writer;
  add(pulse, writer);
  const std::string bytes = writer.take();
  BlobReader reader(bytes);
  const Pulse read = read_pulse(reader);
  CHECK(reader.empty());
  CHECK(read.has_same_state(pulse));
  CHECK(read.task == 3);
  CHECK(read.busy);
  CHECK(read.age == 5s);
  CHECK(read.awaited == pulse.awaited);
  CHECK(read.text == "receive");
}

TEST_SUITE_END();
