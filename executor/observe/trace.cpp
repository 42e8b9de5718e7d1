#include "executor/observe/trace.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/blob.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

/// JSON must be UTF-8: a name that is not is escaped.
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

}  // namespace

/// The event that opens or closes the bar which shows how long a collective is in flight; "" for other instructions.
std::string Trace::collective_line(const Event& event, double begin, double end) const {
  const Instruction& instruction = *event.instruction;
  const bool starts = instruction.what == Opcode::collective;
  if (!starts && instruction.what != Opcode::collective_wait) return "";
  const Collective& collective = event.plan->collectives[instruction.target];
  return line(
      {{"name", std::string(name_of(event.plan->schedules[collective.schedule].kind)) + " " +
                    text(event.plan->string(collective.name))},
       {"cat", "collective"},
       {"ph", starts ? "b" : "e"},
       {"id", std::to_string(task_) + "." + std::to_string(event.plan_id) + "." + std::to_string(instruction.target)},
       {"ts", starts ? begin : end},
       {"pid", task_}});
}

std::uint64_t Trace::left_out() const {
  std::uint64_t sum = 0;
  for (const Walker& walker : walkers_) sum += walker.left_out;
  return sum;
}

std::string Trace::str(Duration offset) const {
  std::string lines = line(named("process_name", task_, 0, "task " + std::to_string(task_)));
  std::map<std::tuple<std::uint64_t, std::uint32_t, bool>, std::uint64_t> messages;
  for (std::size_t thread = 0; thread < walkers_.size(); ++thread) {
    lines += line(named("thread_name", task_, thread, "thread " + std::to_string(thread)));
    for (const Event& event : walkers_[thread].events) {
      const Instruction& instruction = *event.instruction;
      const double begin = microseconds(event.begin, offset);
      const double duration = microseconds(event.end, offset) - begin;
      Json json{{"name", title(*event.plan, instruction)},
                {"cat", name_of(instruction.what)},
                {"ph", "X"},
                {"ts", begin},
                {"dur", duration},
                {"pid", task_},
                {"tid", thread}};
      if (instruction.line != kNone) json["args"]["line"] = text(event.plan->line(instruction.line).str());
      lines += line(json);
      lines += collective_line(event, begin, begin + duration);
      const bool sends = instruction.what == Opcode::send;
      if (!sends && instruction.what != Opcode::receive_wait) continue;
      // The k-th send on a channel is matched with the k-th receive.
      const std::uint64_t k = messages[{event.plan_id, instruction.target, sends}]++;
      Json arrow{
          {"name", text(event.plan->string(event.plan->channels[instruction.target].name))},
          {"cat", "message"},
          {"ph", sends ? "s" : "f"},
          {"id", std::to_string(event.plan_id) + "." + std::to_string(instruction.target) + "." + std::to_string(k)},
          {"ts", sends ? begin : begin + duration},
          {"pid", task_},
          {"tid", thread}};
      if (!sends) arrow["bp"] = "e";
      lines += line(arrow);
    }
  }
  return lines;
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
  BlobReader mine(all[static_cast<std::size_t>(transport.task())]);
  std::vector<std::int64_t> offsets;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t theirs = first.number();
    offsets.push_back(theirs - mine.number());
  }
  std::nth_element(offsets.begin(), offsets.begin() + kRounds / 2, offsets.end());
  return Duration(offsets[kRounds / 2]);
}

}  // namespace ferry
