#include "runner/command/plan_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "plan/text/plan_text.hpp"
#include "runner/report/planned_times.hpp"

namespace ferry {
namespace {

// Lines of each part. A line more says how many there are besides; with titles and the last line these are 30 lines.
constexpr std::size_t kMostCandidates = 3, kMostTotals = 2, kMostRoles = 5, kMostMessages = 10;
constexpr std::size_t kMostAligned = 28;  // columns; longer names do not widen the column of names

struct Message {
  std::uint64_t bytes = 0;
  std::string name;
  std::string what;
  std::uint32_t line = kNone;
};

std::vector<Message> messages_of(const Plan& plan) {
  std::vector<Message> all;
  for (const Channel& channel : plan.channels)
    all.push_back({channel.bytes, std::string(plan.string(channel.name)),
                   "transfer from task " + std::to_string(channel.from) + " to task " + std::to_string(channel.to),
                   channel.line});
  for (const Collective& collective : plan.collectives) {
    std::uint64_t elements = 0;
    for (const std::int64_t part : collective.parts) elements += static_cast<std::uint64_t>(part);
    const auto members = static_cast<std::uint64_t>(plan.groupings[collective.grouping][0].size());
    all.push_back({elements * size_of(collective.dtype), std::string(plan.string(collective.name)),
                   std::string(name_of(plan.schedules[collective.schedule].kind)) + " over " + plural(members, "task"),
                   collective.line});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Message::bytes);
  return all;
}

/// The reason without ", 96 bytes", because the bytes of a message have a column.
std::string without_bytes(std::string text) {
  const std::size_t end = text.find(" bytes:"), begin = text.rfind(", ", end);
  if (end != std::string::npos && begin != std::string::npos && text.find_first_not_of("0123456789", begin + 2) == end)
    text.erase(begin, end + 6 - begin);
  return text;
}

std::string line_text(const Plan& plan, const Message& message, std::size_t width,
                      const std::map<std::string_view, const Reason*>& reasons) {
  const auto found = reasons.find(message.name);
  const Reason* const reason = found == reasons.end() ? nullptr : found->second;
  const SourceLine line = reason != nullptr ? reason->line : plan.line(message.line);
  std::string name = formatted("{}", message.name);
  name.resize(std::max(name.size(), width), ' ');
  const std::string text = reason != nullptr ? without_bytes(reason->text) : message.what;
  const bool has_line = !line.known() || text.ends_with(line.str());
  return formatted("{}  {}  {}{}\n", as_is(right_aligned(human_bytes(message.bytes), 10)), as_is(name), as_is(text),
                   as_is(has_line ? "" : formatted("  at {}", line.str())));
}

std::string messages_text(const PlanResult& result) {
  const std::vector<Message> all = messages_of(result.plan);
  if (all.empty()) return {};
  std::map<std::string_view, const Reason*> reasons;  // by moved value; null: it has several reasons
  for (const Reason& reason : result.reasons)
    if (reason.transfer)
      if (const auto [at, fresh] = reasons.try_emplace(reason.subject, &reason); !fresh) at->second = nullptr;
  const std::size_t shown = std::min(all.size(), kMostMessages);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i)
    if (all[i].name.size() <= kMostAligned) width = std::max(width, all[i].name.size());
  std::string text = "messages, the largest first:\n";
  for (std::size_t i = 0; i < shown; ++i) text += line_text(result.plan, all[i], width, reasons);
  if (all.size() > kMostMessages) text += "  and " + std::to_string(all.size() - kMostMessages) + " more\n";
  return text;
}

/// The tasks of the class, with the number of instructions and the computing time of each in a step.
std::string role_text(const Plan& plan, std::uint32_t index, int task, const OpSet& ops) {
  const double seconds = planned_step_seconds(plan, task, ops);
  return heading_of(plan, index) + "; " + plural(plan.classes[index].regions[1].instructions.count, "instruction") +
         (seconds < 1e-6 ? ", less than 0.001"
                         : ", estimated " + decimals_text(seconds * 1e3, seconds < 1e-3 ? 3 : 1)) +
         " ms of computing\n";
}

std::string roles_text(const Plan& plan, const OpSet& ops) {
  std::string text;
  std::vector<bool> seen(plan.classes.size(), false);
  std::size_t roles = 0;
  for (std::size_t task = 0; task < plan.class_of.size(); ++task) {
    const std::uint32_t index = plan.class_of[task];
    if (seen[index]) continue;
    seen[index] = true;
    if (++roles <= kMostRoles) text += role_text(plan, index, static_cast<int>(task), ops);
  }
  if (roles > kMostRoles) text += "and " + std::to_string(roles - kMostRoles) + " more\n";
  return text;
}

std::string totals_text(const Plan& plan) {
  const std::string all = totals_text_of(plan);
  const std::vector<std::string_view> lines = split(trimmed(all), '\n');
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostTotals); ++i) text += std::string(lines[i]) + "\n";
  if (lines.size() > kMostTotals) text += "  and " + std::to_string(lines.size() - kMostTotals) + " more\n";
  return text;
}

std::string step_text(const StepEstimate& step) {
  return "estimated time of a step: " + milliseconds_text(step.step_seconds) + ", computing " +
         milliseconds_text(step.computing_seconds) + ", messages " + milliseconds_text(step.message_seconds) + "\n";
}

std::string placement_text(const AutoPlacement& placement) {
  const auto& taken = placement.candidates[placement.taken];
  std::string text = "placed by itself" + (placement.entry.empty() ? "" : ", by the entry " + placement.entry) + ": " +
                     taken.name + "\n";
  const auto bytes = [](std::int64_t number) { return human_bytes(static_cast<std::uint64_t>(number)); };
  const bool limited = placement.memory_bytes > 0;
  if (limited)
    text += "  changed to fit into the memory of a task or host: " + bytes(placement.memory_bytes) + " (" +
            std::to_string(placement.memory_bytes) + " bytes)\n";
  if (placement.model_seconds > 0)
    text += "  layouts of " + milliseconds_text(placement.model_seconds) +
            (limited ? " and " + bytes(placement.model_bytes) : "") + " by the model; no others" +
            (limited ? " of at most " + bytes(placement.bound_bytes) : "") + " take less than " +
            milliseconds_text(placement.bound_seconds) + "\n";
  std::vector<const AutoPlacement::Candidate*> others;
  for (const AutoPlacement::Candidate& other : placement.candidates)
    if (&other != &taken) others.push_back(&other);
  std::ranges::stable_sort(others, {}, &AutoPlacement::Candidate::step_seconds);
  for (std::size_t i = 0; i < std::min(others.size(), kMostCandidates); ++i)
    text += "  instead of " + others[i]->name + ": " + milliseconds_text(others[i]->step_seconds) + "\n";
  if (others.size() > kMostCandidates) text += "  and " + std::to_string(others.size() - kMostCandidates) + " more\n";
  return text;
}

}  // namespace

std::string plan_summary(const PlanResult& result, const OpSet& ops) {
  return (result.placement ? placement_text(*result.placement) : "") + totals_text(result.plan) +
         (result.step ? step_text(*result.step) : "") + roles_text(result.plan, ops) + messages_text(result) +
         "--all prints every buffer and instruction; ferry explain FILE why each message exists\n";
}

}  // namespace ferry
