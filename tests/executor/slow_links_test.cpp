// Which link is told to be slow, from counts as the system makes them.
#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "executor/watch/link_meter.hpp"
#include "executor/watch/slowness.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr double kMB = 1e6;

/// Tasks with links of a given rate in bytes per second while they send, which is for a share of the time.
class Job {
 public:
  explicit Job(int tasks) : times_(static_cast<std::size_t>(tasks)), meters_(times_.size()) {
    for (WorkTimes& task : times_) task.step = 0.010, task.waiting = 0.008;
  }

  struct Flow {
    double rate = 95 * kMB, busy = 0.2;
    double messages = 200;  ///< a second, with round trips of 50 us
  };
  Flow& flow(int from, int to) { return flows_[{from, to}]; }
  WorkTimes& task(int task) { return times_[task]; }

  /// Lets half a second pass, and looks at the counts of all links.
  const std::vector<WorkTimes>& pass() {
    now_ += milliseconds(500);
    for (const auto& [ends, flow] : flows_) {
      LinkCount& count = counts_[ends];
      count.peer = ends.second;
      count.bytes += static_cast<std::int64_t>(0.5 * flow.busy * flow.rate);
      count.sending += duration_cast<Duration>(std::chrono::duration<double>(0.5 * flow.busy));
      count.messages += static_cast<std::int64_t>(0.5 * flow.messages);
      count.round_trip = std::chrono::microseconds(50);
    }
    for (std::size_t from = 0; from < times_.size(); ++from) {
      std::vector<LinkCount> counts;
      for (const auto& [ends, count] : counts_)
        if (ends.first == static_cast<int>(from)) counts.push_back(count);
      meters_[from].look(counts, now_);
      ++times_[from].samples;
      times_[from].links = meters_[from].links();
    }
    return times_;
  }
  [[nodiscard]] const std::vector<WorkTimes>& times() const { return times_; }
  [[nodiscard]] TimePoint now() const { return now_; }
  /// The slow links, after two looks.
  std::vector<SlowLink> judge() {
    static_cast<void>(pass());
    return judge_links(pass());
  }

 private:
  TimePoint now_;
  std::vector<WorkTimes> times_;
  std::vector<LinkMeter> meters_;
  std::map<std::pair<int, int>, Flow> flows_;
  std::map<std::pair<int, int>, LinkCount> counts_;
};

/// Each of four sends to the next one; from task 1 to task 2 slowly.
Job slow_ring() {
  Job job(4);
  for (int task = 0; task < 4; ++task) job.flow(task, (task + 1) % 4) = {};
  job.flow(1, 2) = {1.2 * kMB, 0.9};
  return job;
}

/// The warnings after another half second.
std::vector<std::string> warnings(SlownessWatch& watch, Job& job) {
  const std::vector<WorkTimes>& times = job.pass();
  std::vector<TaskStatus> tasks(times.size());
  for (std::size_t task = 0; task < times.size(); ++task) {
    tasks[task].pulse.task = static_cast<int>(task);
    watch.set(static_cast<int>(task), times[task], job.now());
  }
  return watch.warnings(tasks, job.now());
}

TEST_CASE("a link that carries far less than the others while it is waited for is slow") {
  const auto found = slow_ring().judge();
  REQUIRE(found.size() == 1);
  CHECK(found[0].from == 1);
  CHECK(found[0].to == 2);
  CHECK(found[0].rate == doctest::Approx(1.2 * kMB).epsilon(0.01));
  CHECK(found[0].usual == doctest::Approx(95 * kMB).epsilon(0.01));
  CHECK(found[0].cost == doctest::Approx(0.8).epsilon(0.01));
  CHECK(text_of(found[0], "task 1 (host a, process 7138)", "task 2 (host b, process 4711)") ==
        "the link from task 1 (host a, process 7138) to task 2 (host b, process 4711) is slow: 1.1 MiB/s, where others "
        "do 90.6 MiB/s; without that, steps would be 80 % shorter\n"
        "  try: see the speed and errors of both hosts' interfaces (ethtool, ip -s link), and what else uses that "
        "network; --interface chooses another");
}

TEST_CASE("no link is blamed that is a little slower, often idle, of short messages, or that nobody waits for") {
  Job job = slow_ring();
  CHECK(job.judge().size() == 1);
  job.flow(1, 2).rate = 20 * kMB;
  CHECK(job.judge().empty());
  job = slow_ring();
  job.flow(1, 2).busy = 0.4;
  CHECK(job.judge().empty());
  job = slow_ring();
  job.flow(1, 2).messages = 2000;
  CHECK(job.judge().empty());
  job = slow_ring();
  job.task(1).waiting = job.task(2).waiting = 0;
  CHECK(job.judge().empty());
  job.task(2).waiting = 0.008;
  CHECK(job.judge().size() == 1);
}

TEST_CASE("nothing is said where there is nothing to compare with, or nothing measured yet") {
  Job job(2);
  job.flow(0, 1) = {1.2 * kMB, 0.9};
  CHECK(job.judge().empty());
  job.flow(1, 0) = {95 * kMB, 0.0001};  // too short a time to judge the link
  CHECK(job.judge().empty());
  job.flow(1, 0) = {};
  CHECK(job.judge().size() == 1);
  Job fresh = slow_ring();
  CHECK(judge_links(fresh.pass()).empty());
}

TEST_CASE("links that share what their task's network carries are not slow") {
  Job job(8);
  for (int task = 1; task < 8; ++task) {
    job.flow(task, task == 7 ? 1 : task + 1) = {};
    job.flow(0, task) = {95 * kMB / 7, 0.9};
  }
  CHECK(job.judge().empty());
  job.flow(0, 3).rate /= 6;
  const auto found = job.judge();
  REQUIRE(found.size() == 1);
  CHECK(found[0].to == 3);
}

TEST_CASE("all links to a host whose network is slow are found, and one is warned of, once, after several looks") {
  Job job(3);
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to) job.flow(from, to) = {};
  for (int task = 0; task < 3; ++task) job.task(task).waiting = job.task(task).step;
  job.flow(0, 2) = {2 * kMB, 0.9};
  job.flow(1, 2) = {1 * kMB, 0.95};
  CHECK(job.judge().size() == 2);
  SlownessWatch watch(3);
  CHECK(!watch.due(job.now()));
  for (int i = 1; i < PersistentFindings<SlowLink>::kLooks; ++i) {
    CHECK(warnings(watch, job).empty());
    CHECK(watch.due(job.now()));
    CHECK(!watch.due(job.now()));
  }
  const auto told = warnings(watch, job);
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("the link from task 1 to task 2 is slow"));
  for (int i = 0; i < 2 * PersistentFindings<SlowLink>::kLooks; ++i) CHECK(warnings(watch, job).empty());
}

TEST_CASE("a link that is slow only for a short time does not persist, nor one that is looked at again and again") {
  Job job = slow_ring();
  PersistentFindings<SlowLink> findings(4);
  for (int i = 0; i < 10 * findings.kLooks; ++i) {
    job.flow(1, 2).rate = i % findings.kLooks == 0 ? 95 * kMB : 1.2 * kMB;
    for (int look = 0; look < 2; ++look) {
      const std::vector<WorkTimes>& times = look == 0 ? job.pass() : job.times();
      CHECK(findings.look(times, judge_links(times)).empty());
    }
  }
}

TEST_CASE("what links carry goes with what a task measured") {
  WorkTimes times;
  times.links = {{.peer = 3, .bytes = 1e6, .seconds = 0.5, .sending = 0.25, .latency = 0.125}, {.peer = 1}};
  BlobWriter writer;
  add(times, writer);
  const std::string bytes = writer.take();
  BlobReader reader(bytes);
  const WorkTimes read = read_work_times(reader);
  REQUIRE(read.links.size() == 2);
  CHECK(read.links[0].peer == 3);
  CHECK(read.links[0].bytes == 1e6);
  CHECK(read.links[0].seconds == 0.5);
  CHECK(read.links[0].sending == 0.25);
  CHECK(read.links[0].latency == 0.125);
  CHECK(read.links[1].peer == 1);
}

}  // namespace
}  // namespace ferry
