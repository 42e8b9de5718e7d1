#include "executor/observe/trace.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/blob.hpp"
#include "base/text.hpp"
#include "plan/traffic/class_traffic.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

/// JSON must be UTF-8, so a name that is not valid UTF-8 is escaped.
std::string text(std::string_view name) {
  return is_valid_utf8(name) ? std::string(name) : escaped(name, name.size());
}

std::string title(const Plan& plan, const Instruction& instruction) {
  const std::string name = text(plan.string(instruction.name));
  if (instruction.what == Opcode::kernel || instruction.what == Opcode::tiles)
    return text(plan.string(instruction.op)) + " " + name;
  return std::string(name_of(instruction.what)) + " " + name;
}

double microseconds(TimePoint at, Duration offset) {
  return std::chrono::duration<double, std::micro>(at.time_since_epoch() + offset).count();
}

std::string line(const Json& json) {
  return json.dump() + ",\n";
}

Json named(const char* what, int task, std::size_t thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", task}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json sends_json(const std::vector<LinkTraffic>& sends) {
  Json list = Json::array();
  for (const LinkTraffic& link : sends) list.push_back({link.to, link.messages, link.bytes});
  return list;
}

/// Makes the events that open and close a bar for the time in which a collective is in flight. The first event of each
/// collective also lists its tasks, and the data that this task sends in it.
class CollectiveBars {
 public:
  explicit CollectiveBars(int task) : task_(task) {}

  std::string line_of(const Plan& plan, std::uint64_t plan_id, const Instruction& instruction, bool starts, double at) {
    const Collective& collective = plan.collectives[instruction.collective()];
    Json json{
        {"name",
         std::string(name_of(plan.schedules[collective.schedule].kind)) + " " + text(plan.string(collective.name))},
        {"cat", "collective"},
        {"ph", starts ? "b" : "e"},
        {"id", std::to_string(task_) + "." + std::to_string(plan_id) + "." + std::to_string(instruction.collective())},
        {"ts", at},
        {"pid", task_}};
    if (starts && described_.emplace(plan_id, instruction.collective()).second)
      json["args"] = {{"members", *membership(plan.groupings[collective.grouping], task_).group},
                      {"sends", sends_json(sends_of_collective(plan, collective, task_))}};
    return line(json);
  }

 private:
  int task_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> described_;
};

/// Shorter waits for other threads are not shown, since reading the clock takes as long.
constexpr Duration kShortestWait = std::chrono::nanoseconds(500);

}  // namespace

void Trace::add_step(const Plan& plan, std::int64_t number, TimePoint begin, TimePoint end,
                     std::span<const std::int64_t> region_runs) {
  if (left_out() == 0 && steps_.size() < kMostEvents)
    steps_.push_back({&plan, number, begin, end, {region_runs.begin(), region_runs.end()}});
}

std::uint64_t Trace::left_out() const {
  std::uint64_t sum = 0;
  for (const Events& walker : walkers_) sum += walker.left_out;
  for (const auto& [_, queue] : queues_) sum += queue.left_out;
  return sum;
}

std::string Trace::step_lines(Duration offset) const {
  std::string lines;
  std::map<std::pair<const Plan*, std::size_t>, std::vector<LinkTraffic>> known;
  std::map<const Plan*, std::string> fingerprints;
  for (const Step& step : steps_) {
    std::map<std::int32_t, LinkTraffic> sends;
    for (std::size_t region = 0; region < step.region_runs.size(); ++region) {
      const std::int64_t runs = step.region_runs[region];
      if (runs == 0) continue;
      const auto [at, fresh] = known.try_emplace({step.plan, region});
      if (fresh) at->second = sends_of(*step.plan, task_, static_cast<std::uint32_t>(region));
      for (const LinkTraffic& link : at->second) {
        LinkTraffic& sum = sends[link.to];
        sum = {link.to, sum.messages + runs * link.messages, sum.bytes + runs * link.bytes};
      }
    }
    std::vector<LinkTraffic> list;
    list.reserve(sends.size());
    for (const auto& [to, link] : sends) list.push_back(link);
    const auto [plan, first] = fingerprints.try_emplace(step.plan);
    if (first) plan->second = std::to_string(fingerprint(*step.plan));
    const double begin = microseconds(step.begin, offset);
    lines += line({{"name", step.number < 0 ? "setup" : "step " + std::to_string(step.number)},
                   {"cat", "step"},
                   {"ph", "X"},
                   {"ts", begin},
                   {"dur", microseconds(step.end, offset) - begin},
                   {"pid", task_},
                   {"tid", 0},
                   {"args", {{"plan", plan->second}, {"sends", sends_json(list)}}}});
  }
  return lines;
}

/// The lines of a task's events, row by row.
class Trace::Lines {
 public:
  Lines(int task, Duration offset) : task_(task), offset_(offset), bars_(task) {}

  void add_thread(std::size_t row, const Events& thread) {
    text_ += line(named("thread_name", task_, row, "thread " + std::to_string(row)));
    for (const Event& event : thread.list) {
      add_wait(row, event);
      if (event.launches) {
        add_box(row, event, "launch " + title(*event.plan, *event.instruction), "launch");
        continue;
      }
      add_box(row, event, title(*event.plan, *event.instruction), name_of(event.instruction->what));
      const bool starts = event.instruction->what == Opcode::collective;
      if (starts || event.instruction->what == Opcode::collective_wait) add_bar(event, starts);
      add_arrow(row, event);
    }
  }

  void add_queue(std::size_t row, const QueueName& name, const Events& queue) {
    text_ += line(
        named("thread_name", task_, row, "gpu:" + std::to_string(name.gpu) + "." + std::string(name_of(name.role))));
    for (const Event& event : queue.list) {
      add_box(row, event, title(*event.plan, *event.instruction), name_of(event.instruction->what));
      if (event.instruction->what != Opcode::collective) continue;
      for (const bool starts : {true, false}) add_bar(event, starts);
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] double begin(const Event& event) const { return microseconds(event.begin, offset_); }
  [[nodiscard]] double end(const Event& event) const { return microseconds(event.end, offset_); }

  void add_wait(std::size_t row, const Event& event) {
    if (event.begin - event.due < kShortestWait) return;
    const double due = microseconds(event.due, offset_);
    text_ += line({{"name", "wait for threads"},
                   {"cat", "thread_wait"},
                   {"ph", "X"},
                   {"ts", due},
                   {"dur", begin(event) - due},
                   {"pid", task_},
                   {"tid", row}});
  }

  void add_box(std::size_t row, const Event& event, const std::string& name, std::string_view category) {
    Json json{{"name", name}, {"cat", category}, {"ph", "X"}, {"ts", begin(event)}, {"dur", end(event) - begin(event)},
              {"pid", task_}, {"tid", row}};
    if (event.instruction->line != kNone) json["args"]["line"] = text(event.plan->line(event.instruction->line).str());
    text_ += line(json);
  }

  void add_bar(const Event& event, bool starts) {
    text_ += bars_.line_of(*event.plan, event.plan_id, *event.instruction, starts, starts ? begin(event) : end(event));
  }

  void add_arrow(std::size_t row, const Event& event) {
    const Instruction& instruction = *event.instruction;
    const bool sends = instruction.what == Opcode::send;
    if (!sends && instruction.what != Opcode::receive_wait) return;
    // The k-th send on a channel matches the k-th receive.
    const std::uint64_t k = messages_[{event.plan_id, instruction.channel(), sends}]++;
    const Channel& channel = event.plan->channels[instruction.channel()];
    Json arrow{
        {"name", text(event.plan->string(channel.name))},
        {"cat", "message"},
        {"ph", sends ? "s" : "f"},
        {"id", std::to_string(event.plan_id) + "." + std::to_string(instruction.channel()) + "." + std::to_string(k)},
        {"ts", sends ? begin(event) : end(event)},
        {"pid", task_},
        {"tid", row}};
    if (sends)
      arrow["args"] = {{"to", channel.to}, {"bytes", channel.bytes}};
    else
      arrow["bp"] = "e";
    text_ += line(arrow);
  }

  const int task_;
  const Duration offset_;
  CollectiveBars bars_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, bool>, std::uint64_t> messages_;
  std::string text_;
};

std::string Trace::str(Duration offset) const {
  Lines lines(task_, offset);
  std::size_t row = 0;
  for (const Events& thread : walkers_) lines.add_thread(row++, thread);
  for (const auto& [name, queue] : queues_) lines.add_queue(row++, name, queue);
  return line(named("process_name", task_, 0, "task " + std::to_string(task_))) + step_lines(offset) + lines.take();
}

Duration clock_offset(Transport& transport, const Deadline& deadline) {
  constexpr int kRounds = 9;
  BlobWriter times;
  for (int round = 0; round < kRounds; ++round) {
    static_cast<void>(transport.exchange("", deadline));
    times.add(system_clock().now().time_since_epoch().count());
  }
  const auto all = transport.exchange(times.take(), deadline);
  BlobReader first(all[0]);
  BlobReader mine(all[transport.task()]);
  std::vector<std::int64_t> offsets;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t theirs = first.number();
    offsets.push_back(theirs - mine.number());
  }
  std::nth_element(offsets.begin(), offsets.begin() + kRounds / 2, offsets.end());
  return Duration(offsets[kRounds / 2]);
}

}  // namespace ferry
