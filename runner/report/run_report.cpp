#include "runner/report/run_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "base/system/machine.hpp"
#include "runner/files/stats_json.hpp"
#include "runner/report/critical_path.hpp"
#include "runner/report/placed_plan.hpp"
#include "runner/report/planned_times.hpp"
#include "runner/report/time_use.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kActivities[] = {"computing",   "sending", "message wait",
                                            "thread wait", "nested",  "launching"};
constexpr std::size_t kMostOfPath = 20;  // rows in the table of the critical path

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

/// The end of the time in which events are shown: the end of the last step before there are too many events.
std::int64_t shown_until(const TracedRun& run) {
  if (run.events.size() <= RunReport::kMostEvents) return run.nanoseconds;
  std::vector<std::int64_t> ends;
  for (const TracedEvent& event : run.events) ends.push_back(event.end);
  std::ranges::nth_element(ends, ends.begin() + RunReport::kMostEvents);
  const std::int64_t most = ends[RunReport::kMostEvents];
  std::int64_t until = 0;
  for (const TracedStep& step : run.steps)
    if (step.end < most) until = std::max(until, step.end);
  return until > 0 ? until : most;
}

Json threads_json(const TracedRun& run, std::int64_t until) {
  Json threads = Json::array();
  const TracedEvent* before = nullptr;
  for (const TracedEvent& event : run.events) {
    const bool fresh = before == nullptr || before->task != event.task || before->thread != event.thread;
    if (fresh)
      threads.push_back({{"task", event.task},
                         {"thread", event.thread},
                         {"begin", Json::array()},
                         {"duration", Json::array()},
                         {"name", Json::array()},
                         {"line", Json::array()},
                         {"activity", Json::array()}});
    if (const auto queue = run.queues.find({event.task, event.thread}); fresh && queue != run.queues.end())
      threads.back()["queue"] = queue->second;
    before = &event;
    if (event.end > until) continue;
    Json& thread = threads.back();
    thread["begin"].push_back(event.begin);
    thread["duration"].push_back(event.end - event.begin);
    thread["name"].push_back(event.name);
    thread["line"].push_back(event.line);
    thread["activity"].push_back(static_cast<int>(event.activity));
  }
  return threads;
}

Json messages_json(const TracedRun& run, std::int64_t until) {
  Json messages = Json::array();
  for (const TracedMessage& message : run.messages) {
    const TracedEvent& sender = run.events[message.sender];
    const TracedEvent& receiver = run.events[message.receiver];
    if (receiver.end > until) continue;
    messages.push_back({sender.task, sender.thread, sender.begin, receiver.task, receiver.thread, receiver.end,
                        message.bytes, message.name});
  }
  return messages;
}

Json use_json(const TimeUse& use) {
  Json waiting = Json::array();
  for (const auto& [task, time] : use.waiting) waiting.push_back({task, seconds(time)});
  return {{"computing", seconds(use.computing)}, {"moving", seconds(use.moving)},   {"waiting", waiting},
          {"threads", seconds(use.threads)},     {"between", seconds(use.between)}, {"outside", seconds(use.outside)}};
}

/// The segments of the critical path, and its time by kind, name, line and task, the longest first.
Json path_json(const TracedRun& run, std::int64_t until) {
  constexpr std::string_view kKinds[] = {"", "message", "between", "outside"};
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, std::int32_t>;  // kind, name, line, task
  std::map<Key, std::int64_t> rows;
  std::map<std::string, std::int64_t> kinds;
  Json segments = Json::array();
  for (const PathSegment& segment : critical_path(run)) {
    const TracedEvent& event = run.events[segment.event];
    const bool named = segment.kind == PathSegment::Kind::event || segment.kind == PathSegment::Kind::message;
    const std::string kind(segment.kind == PathSegment::Kind::event
                               ? kActivities[static_cast<std::size_t>(event.activity)]
                               : kKinds[static_cast<std::size_t>(segment.kind)]);
    const std::int64_t time = segment.end - segment.begin;
    rows[{kind, named ? event.name : 0, named ? event.line : 0, segment.task}] += time;
    kinds[kind] += time;
    if (segment.end <= until)
      segments.push_back({segment.task, segment.thread, segment.begin, segment.end - segment.begin});
  }
  std::vector<std::pair<Key, std::int64_t>> longest(rows.begin(), rows.end());
  std::ranges::stable_sort(longest, std::ranges::greater(), &std::pair<Key, std::int64_t>::second);
  longest.resize(std::min(longest.size(), kMostOfPath));
  Json json = {{"kinds", Json::object()}, {"longest", Json::array()}, {"segments", std::move(segments)}};
  for (const auto& [kind, time] : kinds) json["kinds"][kind] = seconds(time);
  for (const auto& [key, time] : longest)
    json["longest"].push_back({std::get<0>(key), run.strings[std::get<1>(key)], run.strings[std::get<2>(key)],
                               std::get<3>(key), seconds(time)});
  return json;
}

Json links_json(const TracedRun& run) {
  Json links = Json::array();
  for (const auto& [ends, link] : run.links)
    links.push_back({ends.first, ends.second, link.messages, link.bytes, link.planned_messages, link.planned_bytes});
  return links;
}

/// The ops with the longest computing time, at most three.
std::vector<std::string> longest(const std::map<std::string, std::int64_t>& ops) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(ops.begin(), ops.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<std::string, std::int64_t>::second);
  std::vector<std::string> names;
  for (const auto& [name, time] : sorted)
    if (names.size() < 3) names.push_back(name);
  return names;
}

/// Sums over tasks and steps, by line of the user's program.
Json lines_json(const TracedRun& run, const std::vector<std::map<std::string, double>>& planned) {
  struct Line {
    std::map<std::string, std::int64_t> ops;  ///< with their computing time
    std::int64_t runs = 0, computing = 0, waiting = 0, reckoned = 0;
    double planned = 0;
  };
  std::map<std::uint32_t, Line> lines;
  std::vector<std::unordered_map<std::uint32_t, double>> known(static_cast<std::size_t>(run.tasks));
  for (const TracedEvent& event : run.events) {
    const std::int64_t time = event.end - event.begin;
    if (event.activity == Activity::message_wait) lines[event.line].waiting += time;
    if (event.activity != Activity::computing) continue;
    Line& line = lines[event.line];
    const std::string& name = run.strings[event.name];
    line.ops[name.substr(0, name.find(' '))] += time;
    ++line.runs;
    line.computing += time;
    const auto task = static_cast<std::size_t>(event.task);
    if (task >= planned.size()) continue;
    const auto [at, fresh] = known[task].try_emplace(event.name, -1);
    if (fresh)
      if (const auto found = planned[task].find(name); found != planned[task].end()) at->second = found->second;
    if (at->second < 0) continue;
    line.planned += at->second;
    line.reckoned += time;
  }
  Json json = Json::array();
  for (const auto& [name, line] : lines)
    json.push_back({run.strings[name], longest(line.ops), line.runs, seconds(line.computing), line.planned,
                    seconds(line.reckoned), seconds(line.waiting)});
  return json;
}

/// Entries by the fingerprints of their plans.
using Entries = std::map<std::string, std::string>;

/// The entry that a step runs; empty for steps that only give variables their values.
std::string entry_of(const TracedStep& step, const Entries& entries) {
  const auto entry = entries.find(step.plan);
  return entry == entries.end() ? std::string() : entry->second;
}

/// For each entry the number of task 0's steps, and their shortest, median and longest time. Steps of no entry count if
/// there are no others.
Json step_times_json(const TracedRun& run, const Entries& entries) {
  std::map<std::string, std::vector<std::int64_t>> times;
  for (const TracedStep& step : run.steps)
    if (step.task == 0 && run.strings[step.name] != "setup")
      times[entry_of(step, entries)].push_back(step.end - step.begin);
  if (times.size() > 1) times.erase("");
  Json json = Json::array();
  for (auto& [entry, all] : times) {
    std::ranges::sort(all);
    json.push_back({entry, all.size(), seconds(all.front()), seconds(all[all.size() / 2]), seconds(all.back())});
  }
  return json;
}

/// The memory in use over the time of a step, on a device of one task of each role.
Json step_memory_json(const std::string& entry, const StepMemory& memory, const MemoryCurve& curve) {
  Json largest = Json::array();
  for (const StepMemory::Value* value : curve.largest) largest.push_back({value->text, value->line, value->bytes});
  return {{"entry", entry},        {"tasks", memory.tasks},     {"device", memory.device},
          {"arena", memory.arena}, {"planned", memory.planned}, {"duration", curve.duration},
          {"times", curve.times},  {"bytes", curve.bytes},      {"largest", largest}};
}

}  // namespace

RunReport::RunReport(std::string command) : command_(std::move(command)) {
  if (!command_.empty()) began_ = static_cast<std::int64_t>(wall_seconds());
}

void RunReport::add_plan(std::string_view entry, const Plan& plan, const OpSet& ops) {
  const auto tasks = static_cast<std::size_t>(plan.topology.size());
  times_.resize(std::max(times_.size(), tasks));
  arenas_.clear();
  std::map<std::uint32_t, std::map<std::string, double>> by_class;
  for (std::size_t task = 0; task < tasks; ++task) {
    const auto [at, fresh] = by_class.try_emplace(plan.class_of[task]);
    if (fresh) at->second = planned_times(plan, static_cast<int>(task), ops);
    times_[task].insert(at->second.begin(), at->second.end());
    std::vector<Arena>& arenas = arenas_.emplace_back();
    for (const PlanDevice& device : plan.class_for(static_cast<int>(task)).devices)
      arenas.push_back({std::string(name_of(device.kind)) + ":" + std::to_string(device.index), device.step_bytes,
                        device.state_bytes});
  }
  const std::string name = std::to_string(fingerprint(plan));
  entry_of_.emplace(name, entry);
  plans_[std::string(entry)] = {name, placed_plan_json(plan), step_memories(plan)};
}

std::string RunReport::json() const {
  const std::int64_t until = shown_until(run_);
  Json json;
  json["format"] = 1;
  json["version"] = command_.empty() ? "" : FERRY_VERSION;
  json["command"] = command_;
  json["began"] = began_;
  json["stats"] = stats_.tasks.empty() ? Json() : Json::parse(stats_json(stats_));
  json["seconds"] = seconds(run_.nanoseconds);
  json["shown_seconds"] = seconds(until);
  json["strings"] = run_.strings;
  json["time"] = Json::array();
  for (const TimeUse& use : time_uses(run_)) json["time"].push_back(use_json(use));
  json["path"] = path_json(run_, until);
  json["links"] = links_json(run_);
  json["memory"] = Json::array();
  for (const std::vector<Arena>& arenas : arenas_) {
    Json& list = json["memory"].emplace_back(Json::array());
    for (const Arena& arena : arenas) list.push_back({arena.device, arena.step_bytes, arena.state_bytes});
  }
  json["step_memory"] = Json::array();
  json["plans"] = Json::array();
  for (const auto& [entry, plan] : plans_) {
    Json& drawn = json["plans"].emplace_back(Json::parse(plan.drawing));
    drawn["entry"] = entry;
    for (const StepMemory& memory : plan.memory)
      if (const auto curve = memory_curve(memory, run_, plan.fingerprint))
        json["step_memory"].push_back(step_memory_json(entry, memory, *curve));
  }
  json["lines"] = lines_json(run_, times_);
  json["curves"] = Json::array();
  for (const auto& [name, curve] : curves_.all())
    json["curves"].push_back(
        {{"entry", name.first}, {"name", name.second}, {"steps", curve.steps}, {"values", curve.values}});
  json["activities"] = kActivities;
  json["step_times"] = step_times_json(run_, entry_of_);
  json["steps"] = Json::array();
  for (const TracedStep& step : run_.steps)
    if (step.end <= until)
      json["steps"].push_back(
          {step.task, step.begin, step.end - step.begin, run_.strings[step.name], entry_of(step, entry_of_)});
  json["threads"] = threads_json(run_, until);
  json["messages"] = messages_json(run_, until);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ferry
