#include "runner/report/report_page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "runner/report/critical_path.hpp"
#include "runner/report/run_report.hpp"
#include "runner/report/time_use.hpp"

namespace ferry {
namespace {

using nlohmann::json;

std::string event(int task, int thread, const char* name, const char* category, double begin, double duration) {
  const json event = {
      {"name", name},    {"cat", category}, {"ph", "X"},     {"ts", begin},
      {"dur", duration}, {"pid", task},     {"tid", thread}, {"args", {{"line", "a.cpp:" + std::to_string(task)}}}};
  return event.dump() + ",\n";
}

std::string step(int task, double begin, double duration, const json& sends = json::array()) {
  const json step = {{"name", "step 0"}, {"cat", "step"}, {"ph", "X"}, {"ts", begin},
                     {"dur", duration},  {"pid", task},   {"tid", 0},  {"args", {{"plan", "7"}, {"sends", sends}}}};
  return step.dump() + ",\n";
}

std::string arrow(int task, bool sends, int to, int bytes) {
  json arrow = {{"name", "x"}, {"cat", "message"}, {"ph", sends ? "s" : "f"}, {"id", "7.0.0"}, {"ts", 0},
                {"pid", task}, {"tid", 0}};
  if (sends) arrow["args"] = {{"to", to}, {"bytes", bytes}};
  return arrow.dump() + ",\n";
}

/// Task 1 computes 60 µs and sends; task 0 computes 10, waits 70 (50 until the message is sent), and computes.
std::string two_tasks(bool steps) {
  std::string trace = "[\n";
  if (steps) trace += step(0, 1000, 100) + step(1, 1000, 80, {{0, 1, 64}});
  trace += event(0, 0, "Add a", "kernel", 1000, 10) + event(0, 0, "receive_wait x", "receive_wait", 1010, 70) +
           arrow(0, false, 0, 0) + event(0, 0, "Mul b", "kernel", 1080, 20);
  trace += event(1, 0, "MatMul m", "kernel", 1000, 60) + event(1, 0, "send x", "send", 1060, 5) + arrow(1, true, 0, 64);
  trace.erase(trace.size() - 2);
  return trace + "\n]\n";
}

std::string collective(int task, bool starts, bool first) {
  json bar = {{"name", "all_reduce x"},
              {"cat", "collective"},
              {"ph", starts ? "b" : "e"},
              {"id", std::to_string(task) + ".7.3"},
              {"ts", 0},
              {"pid", task}};
  if (first) bar["args"] = {{"members", {0, 1}}, {"sends", {{1 - task, 2, 32}}}};
  return bar.dump() + ",\n";
}

TEST_CASE("a trace is read: both ends of a message, and what went from task to task beside the plan") {
  const TracedRun run = read_trace(two_tasks(true), "t.json");
  CHECK(run.tasks == 2);
  CHECK(run.nanoseconds == 100'000);
  REQUIRE(run.messages.size() == 1);
  CHECK(run.events[run.messages[0].sender].task == 1);
  CHECK(run.events[run.messages[0].receiver].end == 80'000);
  const TracedLink& link = run.links.at({1, 0});
  CHECK(link.messages == 1);
  CHECK(link.bytes == 64);
  CHECK(link.planned_messages == 1);
  CHECK(link.planned_bytes == 64);
}

TEST_CASE("a task's time is told by cause, and adds up") {
  const TracedRun run = read_trace(two_tasks(true), "t.json");
  const std::vector<TimeUse> uses = time_uses(run);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].computing == 30'000);
  CHECK(uses[0].waiting == std::map<std::int32_t, std::int64_t>{{1, 50'000}});
  CHECK(uses[0].moving == 20'000);
  CHECK(uses[0].between == 0);
  CHECK(uses[1].computing == 60'000);
  CHECK(uses[1].moving == 5'000);
  CHECK(uses[1].between == 15'000);
  CHECK(uses[1].outside == 20'000);
  for (const TimeUse& use : uses) CHECK(use.sum() == run.nanoseconds);
}

TEST_CASE("waits for other threads of the task are told apart, also the one at the step's end") {
  const TracedRun run =
      read_trace(step(0, 0, 100) + event(0, 0, "Add a", "kernel", 0, 10) +
                     event(0, 0, "wait for threads", "thread_wait", 10, 30) + event(0, 0, "Mul b", "kernel", 40, 20) +
                     event(0, 1, "Exp c", "kernel", 0, 40) + event(0, 1, "Log d", "kernel", 45, 55),
                 "t.json");
  const TimeUse use = time_uses(run)[0];
  CHECK(use.computing == 30'000);
  CHECK(use.threads == 70'000);
  CHECK(use.sum() == 100'000);
  const std::vector<PathSegment> path = critical_path(run);
  for (const PathSegment& segment : path)
    CHECK(segment.thread == (segment.kind == PathSegment::Kind::between ? 1 : segment.thread));
  CHECK(path.back().thread == 1);
}

std::string row(int task, int thread, const char* name) {
  const json row = {{"name", "thread_name"}, {"ph", "M"}, {"pid", task}, {"tid", thread}, {"args", {{"name", name}}}};
  return row.dump() + ",\n";
}

TEST_CASE("a queue of a device is a row that computes, and giving it work is none of the host's computing") {
  // The host gives a kernel in 5 µs and waits for it; the GPU has it from 10 to 80.
  const TracedRun run =
      read_trace(row(0, 0, "thread 0") + step(0, 0, 100) + event(0, 0, "launch MatMul m", "launch", 0, 5) +
                     event(0, 0, "wait for threads", "thread_wait", 5, 80) + event(0, 0, "fetch m", "fetch", 85, 10) +
                     row(0, 1, "gpu:0.compute") + event(0, 1, "MatMul m", "kernel", 10, 70),
                 "t.json");
  CHECK(run.queues == std::map<std::pair<std::int32_t, std::int32_t>, std::string>{{{0, 1}, "gpu:0.compute"}});
  const TimeUse use = time_uses(run)[0];
  CHECK(use.computing == 10'000);
  CHECK(use.threads == 80'000);
  CHECK(use.between == 10'000);  // the launch, and what is left at the end: no thread's work is waited for there
  CHECK(use.sum() == 100'000);
  std::int64_t on_gpu = 0;
  for (const PathSegment& segment : critical_path(run))
    if (segment.thread == 1) on_gpu += segment.end - segment.begin;
  CHECK(on_gpu >= 70'000);
  RunReport report("");
  report.set_trace(row(0, 0, "thread 0") + event(0, 0, "launch a", "launch", 0, 5) + row(0, 1, "gpu:0.compute") +
                       event(0, 1, "Add a", "kernel", 10, 70),
                   "t.json");
  const json data = json::parse(report.json());
  CHECK_FALSE(data["threads"][0].contains("queue"));
  CHECK(data["threads"][1]["queue"] == "gpu:0.compute");
}

TEST_CASE("a collective of GPUs waits for the GPU that comes last") {
  const auto member = [](int task, double begin) {
    return step(task, 0, 100) + event(task, 0, "launch collective x", "launch", 0, 1) +
           row(task, 1, "gpu:0.collective") + event(task, 1, "collective x", "collective", begin, 90 - begin) +
           collective(task, true, true) + collective(task, false, false);
  };
  const TracedRun run = read_trace(member(0, 10) + member(1, 70), "t.json");
  const auto wait = std::ranges::find_if(run.events, [](const TracedEvent& e) { return e.task == 0 && e.thread == 1; });
  REQUIRE(wait != run.events.end());
  CHECK(wait->activity == Activity::message_wait);
  CHECK(sender_delay(run, *wait) == 60'000);
  CHECK(critical_path(run).back().task == 1);
}

TEST_CASE("the critical path goes over to the task that sends late, and fills the time") {
  const TracedRun run = read_trace(two_tasks(true), "t.json");
  const std::vector<PathSegment> path = critical_path(run);
  REQUIRE(path.size() == 3);
  CHECK(run.strings[run.events[path[0].event].name] == "MatMul m");
  CHECK(path[0].task == 1);
  CHECK(path[1].kind == PathSegment::Kind::message);
  CHECK(path[1].end - path[1].begin == 20'000);
  CHECK(run.strings[run.events[path[2].event].name] == "Mul b");
  std::int64_t end = 0;
  for (const PathSegment& segment : path) {
    CHECK(segment.begin == end);
    end = segment.end;
  }
  CHECK(end == run.nanoseconds);
}

TEST_CASE("in a collective a member waits for the one that comes last") {
  const auto member = [](int task, double start, double end) {
    return step(task, 0, 100, {{1 - task, 2, 32}}) + event(task, 0, "collective x", "collective", start, 1) +
           collective(task, true, true) +
           event(task, 0, "collective_wait x", "collective_wait", start + 1, end - start - 1) +
           collective(task, false, false);
  };
  const TracedRun run = read_trace(member(0, 10, 90) + member(1, 70, 90), "t.json");
  CHECK(time_uses(run)[0].waiting == std::map<std::int32_t, std::int64_t>{{1, 59'000}});
  CHECK(time_uses(run)[1].waiting.empty());
  CHECK(run.links.at({0, 1}).messages == 2);
  CHECK(run.links.at({0, 1}).bytes == run.links.at({0, 1}).planned_bytes);
}

TEST_CASE("a trace of an earlier version, without steps, is one step for each task") {
  const TracedRun run = read_trace(two_tasks(false), "t.json");
  CHECK(run.nanoseconds == 100'000);
  CHECK(run.links.at({1, 0}).planned_messages == 0);
  for (const TimeUse& use : time_uses(run)) CHECK(use.sum() == run.nanoseconds);
}

TEST_CASE("messages of a step that recording cut short do not count beside the plan") {
  std::string trace = two_tasks(true);
  trace.erase(trace.rfind("\n]"));
  trace += ",\n" + event(1, 0, "send x", "send", 1100, 5) + arrow(1, true, 0, 64) +
           event(0, 0, "receive_wait x", "receive_wait", 1100, 7) + arrow(0, false, 0, 0);
  // The arrows of a second step have the number of that step.
  for (std::size_t at = trace.rfind("7.0.0"), n = 0; n < 2; at = trace.rfind("7.0.0", at - 1), ++n) trace[at + 4] = '1';
  trace.erase(trace.size() - 2);
  const TracedRun run = read_trace(trace + "\n]\n", "t.json");
  CHECK(run.messages.size() == 2);
  CHECK(run.links.at({1, 0}).messages == 1);
  CHECK(run.links.at({1, 0}).bytes == run.links.at({1, 0}).planned_bytes);
}

TEST_CASE("a report has the number of all steps and their times, and the time when the run began") {
  RunReport report("ferry run x.pb");
  std::string trace = "[\n";
  for (const double length : {30, 10, 20})
    trace += step(0, 100 * length, length) + event(0, 0, "Add a", "kernel", 100 * length, 5);
  trace.erase(trace.size() - 2);
  report.set_trace(trace + "\n]\n", "t.json");
  const json data = json::parse(report.json());
  CHECK(data["step_times"] == json::parse(R"([["", 3, 1e-5, 2e-5, 3e-5]])"));
  CHECK(data["began"] > 1'700'000'000);
  RunReport of_a_trace("");
  of_a_trace.set_trace(trace + "\n]\n", "t.json");
  CHECK(json::parse(of_a_trace.json())["began"] == 0);
}

TEST_CASE("what is no trace is refused with its line") {
  for (const char* text :
       {"", "[\n]\n", "[\nx\n", "[\n{}\n", "[\n{\"ph\":\"X\",\"pid\":-1}\n", "{\"ph\":\"s\",\"pid\":0,\"id\":\"1\"}\n",
        "{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1e300,\"dur\":1}\n"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(static_cast<void>(read_trace(text, "t.json")), doctest::Contains("this is no trace of ferry"),
                         Error);
  }
}

TEST_CASE("a page has its run in it, whatever is in the names, and one of two runs is refused") {
  RunReport report("run '</script><b>'");
  report.set_trace(two_tasks(true), "t.json");
  report.curves().add(1, "train", {{"loss", 0.5}});
  const std::string page = report_page({{"", report.json()}});
  CHECK(is_report_page(page));
  CHECK(page.find("</script><b>") == std::string::npos);
  const json run = json::parse(run_in_page(page, "a.html"));
  CHECK(run == json::parse(report.json()));
  CHECK(run["command"] == "run '</script><b>'");
  CHECK(run["curves"][0]["values"] == json::array({0.5}));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(run_in_page(report_page({{"a", report.json()}, {"b", report.json()}}), "a.html")),
      doctest::Contains("compares two runs"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(run_in_page("<p>", "a.html")), doctest::Contains("no run in it"), Error);
}

TEST_CASE("a curve of a long run is thinned out") {
  Curves curves;
  for (std::int64_t i = 1; i <= 20'000; ++i) curves.add(i, "train", {{"loss", static_cast<double>(i)}});
  const Curves::Curve& curve = curves.all().at({"train", "loss"});
  CHECK(curve.steps.size() <= Curves::kMostPoints);
  CHECK(curve.steps.size() > Curves::kMostPoints / 2);
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    CHECK(curve.steps[i] == static_cast<std::int64_t>(i) * curve.stride + 1);
    CHECK(curve.values[i] == static_cast<double>(curve.steps[i]));
  }
}

}  // namespace
}  // namespace ferry
