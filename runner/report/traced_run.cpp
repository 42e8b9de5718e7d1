#include "runner/report/traced_run.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int32_t kMostTracedTasks = 1 << 20;

/// `queued`: the event is on a queue. A collective on a queue begins with the wait for the other members.
Activity activity_of(std::string_view category, bool queued) {
  if (category == "launch") return Activity::launching;
  if (queued && category == "collective") return Activity::message_wait;
  if (category == "send" || category == "receive" || category == "collective") return Activity::sending;
  if (category.ends_with("_wait")) return category == "thread_wait" ? Activity::thread_wait : Activity::message_wait;
  if (category == "join") return Activity::thread_wait;
  return category == "loop" || category == "branch" ? Activity::nested : Activity::computing;
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& file) : file_(file) {}

  TracedRun read(std::string_view trace) {
    for (const std::string_view line : split(trace, '\n')) {
      ++line_;
      std::string_view object = trimmed(line);
      if (object.ends_with(",")) object.remove_suffix(1);
      if (object.empty() || object == "[" || object == "]") continue;
      const Json json = Json::parse(object, nullptr, false);
      if (!json.is_object()) fail();
      try {
        add(json);
      } catch (const std::exception&) {
        fail();
      }
    }
    if (run_.events.empty()) fail();
    add_steps();
    begin_at_zero();
    find_whole_steps();
    join_messages();
    join_collectives();
    add_links();
    sort();
    return std::move(run_);
  }

 private:
  struct Ends {
    std::int64_t bytes = 0;
    std::uint32_t name = 0;
    std::optional<std::uint32_t> sender, receiver;
  };
  struct Member {
    std::optional<std::uint32_t> start, wait;
  };
  struct Sends {
    std::int32_t to = 0;
    std::int64_t messages = 0, bytes = 0;
  };
  struct CollectiveOfTask {
    std::vector<std::int32_t> members;
    std::vector<Sends> sends;
    std::int64_t started = 0, waited = 0;
    std::uint32_t name = 0;
  };

  [[noreturn]] void fail() const {
    throw Error(Code::file, "{:?}:{}: this is no trace of ferry", file_, line_)
        .hint("give a file that ferry run --trace wrote, or a report that ferry run --report wrote");
  }

  std::uint32_t string(const std::string& text) {
    const auto [at, fresh] = known_.try_emplace(text, static_cast<std::uint32_t>(run_.strings.size()));
    if (fresh) run_.strings.push_back(text);
    return at->second;
  }

  static std::int64_t nanoseconds(const Json& json, const char* key) {
    const double microseconds = json.at(key).get<double>();
    if (!(std::abs(microseconds) < 9e15)) throw std::out_of_range("a time out of range");
    return std::llround(microseconds * 1000);
  }

  static std::vector<Sends> sends_in(const Json& list) {
    std::vector<Sends> sends;
    for (const Json& link : list)
      sends.push_back({link.at(0).get<std::int32_t>(), link.at(1).get<std::int64_t>(), link.at(2).get<std::int64_t>()});
    return sends;
  }

  void add(const Json& json) {
    const auto kind = json.at("ph").get<std::string>();
    const auto task = json.at("pid").get<std::int32_t>();
    if (task < 0 || task >= kMostTracedTasks) fail();
    run_.tasks = std::max(run_.tasks, task + 1);
    if (kind == "X") {
      json.at("cat") == "step" ? add_step(json, task) : add_event(json, task);
      return;
    }
    if (kind == "M") {
      if (json.at("name") == "thread_name") add_row(json, task);
      return;
    }
    const auto last = last_of_.find(task);
    if (last == last_of_.end()) fail();
    const auto id = json.at("id").get<std::string>();
    if (kind == "s" || kind == "f") {
      Ends& ends = messages_[id];
      ends.name = string(json.at("name").get<std::string>());
      if (json.contains("args")) ends.bytes = json["args"].at("bytes").get<std::int64_t>();
      (kind == "s" ? ends.sender : ends.receiver) = last->second;
    } else if (kind == "b" || kind == "e") {
      add_collective(json, task, id.substr(id.find('.') + 1), kind == "b", last->second);
    }
  }

  void add_step(const Json& json, std::int32_t task) {
    const std::int64_t begin = nanoseconds(json, "ts");
    const Json& args = json.at("args");
    run_.steps.push_back({task, begin, begin + nanoseconds(json, "dur"), string(json.at("name").get<std::string>()),
                          args.at("plan").get<std::string>()});
    for (const Sends& link : sends_in(args.at("sends"))) {
      TracedLink& sum = run_.links[{task, link.to}];
      sum.planned_messages += link.messages;
      sum.planned_bytes += link.bytes;
    }
  }

  void add_row(const Json& json, std::int32_t task) {
    const auto name = json.at("args").at("name").get<std::string>();
    if (!name.starts_with("thread ")) run_.queues[{task, json.at("tid").get<std::int32_t>()}] = name;
  }

  void add_event(const Json& json, std::int32_t task) {
    TracedEvent event;
    event.task = task;
    event.thread = json.at("tid").get<std::int32_t>();
    event.activity = activity_of(json.at("cat").get<std::string>(), run_.queues.contains({task, event.thread}));
    event.begin = nanoseconds(json, "ts");
    event.end = event.begin + nanoseconds(json, "dur");
    event.name = string(json.at("name").get<std::string>());
    if (json.contains("args")) event.line = string(json["args"].at("line").get<std::string>());
    last_of_[task] = static_cast<std::uint32_t>(run_.events.size());
    run_.events.push_back(event);
  }

  /// `id`: identifies the collective, the same on all members.
  void add_collective(const Json& json, std::int32_t task, const std::string& id, bool starts, std::uint32_t event) {
    CollectiveOfTask& mine = collectives_[{id, task}];
    if (starts && json.contains("args")) {
      mine.members = json["args"].at("members").get<std::vector<std::int32_t>>();
      mine.sends = sends_in(json["args"].at("sends"));
      mine.name = string(json.at("name").get<std::string>());
    }
    const std::int64_t k = (starts ? mine.started : mine.waited)++;
    Member& member = runs_of_[{id, k}][task];
    (starts ? member.start : member.wait) = event;
  }

  /// Makes one step of all events of a task that has no steps in the trace.
  void add_steps() {
    std::set<std::int32_t> have;
    for (const TracedStep& step : run_.steps) have.insert(step.task);
    std::map<std::int32_t, TracedStep> whole;
    for (const TracedEvent& event : run_.events) {
      if (have.contains(event.task)) continue;
      const auto [at, fresh] = whole.try_emplace(event.task);
      TracedStep& step = at->second;
      if (fresh) step = {event.task, event.begin, event.end, string("all"), {}};
      step.begin = std::min(step.begin, event.begin);
      step.end = std::max(step.end, event.end);
    }
    for (const auto& [task, step] : whole) run_.steps.push_back(step);
  }

  void begin_at_zero() {
    std::int64_t zero = run_.steps[0].begin;
    for (const TracedStep& step : run_.steps) zero = std::min(zero, step.begin);
    for (TracedEvent& event : run_.events) {
      event.begin -= zero;
      event.end -= zero;
    }
    for (TracedStep& step : run_.steps) {
      step.begin -= zero;
      step.end -= zero;
      run_.nanoseconds = std::max(run_.nanoseconds, step.end);
    }
  }

  /// The end of the last step of each task that is whole. Recording may end within a step, and the plan's messages are
  /// counted for whole steps.
  void find_whole_steps() {
    for (const TracedStep& step : run_.steps) {
      std::int64_t& end = whole_until_.try_emplace(step.task, step.end).first->second;
      end = std::max(end, step.end);
    }
  }

  [[nodiscard]] bool in_whole_step(std::uint32_t event) const {
    const auto until = whole_until_.find(run_.events[event].task);
    return until != whole_until_.end() && run_.events[event].end <= until->second;
  }

  void add_message(std::uint32_t sender, std::uint32_t receiver, std::uint32_t name, std::int64_t bytes) {
    run_.events[receiver].message = static_cast<std::int32_t>(run_.messages.size());
    run_.messages.push_back({sender, receiver, name, bytes});
  }

  void join_messages() {
    for (const auto& [id, ends] : messages_) {
      if (!ends.sender || !ends.receiver) continue;
      add_message(*ends.sender, *ends.receiver, ends.name, ends.bytes);
      if (!in_whole_step(*ends.sender)) continue;
      TracedLink& link = run_.links[{run_.events[*ends.sender].task, run_.events[*ends.receiver].task}];
      ++link.messages;
      link.bytes += ends.bytes;
    }
  }

  void join_collectives() {
    for (auto& [key, by_task] : runs_of_)
      for (const auto& [task, member] : by_task) {
        const CollectiveOfTask& mine = collectives_[{key.first, task}];
        std::optional<std::uint32_t> last;
        for (const std::int32_t other : mine.members) {
          const auto at = by_task.find(other);
          if (at == by_task.end() || !at->second.start) continue;
          if (!last || run_.events[*last].begin < run_.events[*at->second.start].begin) last = at->second.start;
        }
        if (last && member.wait && run_.events[*last].task != task) add_message(*last, *member.wait, mine.name, 0);
      }
  }

  void add_links() {
    for (const auto& [key, by_task] : runs_of_)
      for (const auto& [task, member] : by_task) {
        if (!member.wait || !in_whole_step(*member.wait)) continue;
        for (const Sends& link : collectives_[{key.first, task}].sends) {
          TracedLink& sum = run_.links[{task, link.to}];
          sum.messages += link.messages;
          sum.bytes += link.bytes;
        }
      }
  }

  void sort() {
    std::vector<std::uint32_t> order(run_.events.size()), place(run_.events.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
      const TracedEvent& event = run_.events[i];
      return std::tuple(event.task, event.thread, event.begin, -event.end);
    });
    std::vector<TracedEvent> sorted;
    sorted.reserve(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(run_.events[order[i]]);
    }
    run_.events = std::move(sorted);
    for (TracedMessage& message : run_.messages) {
      message.sender = place[message.sender];
      message.receiver = place[message.receiver];
    }
    std::ranges::stable_sort(run_.steps, {}, [](const TracedStep& step) { return std::pair(step.task, step.begin); });
  }

  const std::string& file_;
  std::int64_t line_ = 0;
  TracedRun run_;
  std::unordered_map<std::string, std::uint32_t> known_{{"", 0}};
  std::map<std::int32_t, std::uint32_t> last_of_;     // the newest event of each task
  std::map<std::int32_t, std::int64_t> whole_until_;  // by task
  std::map<std::string, Ends> messages_;
  std::map<std::pair<std::string, std::int32_t>, CollectiveOfTask> collectives_;            // by id and task
  std::map<std::pair<std::string, std::int64_t>, std::map<std::int32_t, Member>> runs_of_;  // by id and run; by task
};

}  // namespace

TracedRun read_trace(std::string_view trace, const std::string& name) {
  return TraceReader(name).read(trace);
}

}  // namespace ferry
