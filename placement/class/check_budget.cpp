#include "placement/class/check_budget.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/largest_values.hpp"
#include "plan/traffic/costs.hpp"

namespace ferry {
namespace {

constexpr std::size_t kNamed = 5;

std::string bytes_text(std::int64_t bytes) {
  const auto count = static_cast<std::uint64_t>(bytes);
  return count < 1024 ? plural(count, "byte") : human_bytes(count) + " (" + std::to_string(bytes) + " bytes)";
}

std::string messages_text(std::int64_t messages) {
  return plural(static_cast<std::uint64_t>(messages), "message");
}

/// One of the two limits on sending: messages or bytes.
struct Limit {
  const char* name;
  std::int64_t most;
  std::int64_t MessageCost::*cost;
  std::string (*text)(std::int64_t);
};

/// The lines with the highest costs, the highest first.
std::vector<std::string> costliest_lines(const std::vector<MessageCost>& costs, const Limit& limit) {
  struct LineCost {
    std::string where;
    std::vector<std::string> names;
    std::int64_t cost = 0;
  };
  std::vector<LineCost> lines;
  std::map<std::string, std::size_t> numbers;
  for (const MessageCost& cost : costs) {
    if (cost.*limit.cost == 0) continue;
    const auto [at, fresh] = numbers.try_emplace(cost.line.known() ? cost.line.str() : cost.name, lines.size());
    if (fresh) lines.push_back({cost.line.known() ? formatted(" at {}", cost.line.str()) : "", {}, 0});
    LineCost& line = lines[at->second];
    line.cost += cost.*limit.cost;
    if (std::ranges::find(line.names, cost.name) == line.names.end()) line.names.push_back(cost.name);
  }
  std::ranges::stable_sort(lines, [](const LineCost& a, const LineCost& b) { return a.cost > b.cost; });
  std::vector<std::string> texts;
  for (const LineCost& line : lines) {
    if (texts.size() == kNamed) {
      texts.push_back("and " + plural(lines.size() - kNamed, "line") + " more");
      break;
    }
    texts.push_back(
        formatted("{}: {:?}{}{}", as_is(limit.text(line.cost)), line.names[0],
                  as_is(line.names.size() > 1 ? " and " + std::to_string(line.names.size() - 1) + " more" : ""),
                  as_is(line.where)));
  }
  return texts;
}

void check(const std::vector<MessageCost>& costs, const Limit& limit) {
  std::int64_t total = 0;
  const MessageCost* over = nullptr;
  for (const MessageCost& cost : costs) {
    total += cost.*limit.cost;
    if (over == nullptr && total > limit.most) over = &cost;
  }
  if (over == nullptr) return;
  Error error(Code::plan, "a step sends {}; its budget is {}, and {:?} goes over it", as_is(limit.text(total)),
              as_is(limit.text(limit.most)), over->name);
  error.at(over->line);
  for (const std::string& line : costliest_lines(costs, limit)) error.note(line);
  throw error.hint(std::string("place ops nearer to their inputs (ferry explain), or --budget ") + limit.name + "=" +
                   std::to_string(total) + ", the smallest that would do");
}

void check_memory(const Plan& plan, std::int64_t most) {
  std::size_t task = 0;
  for (std::size_t t = 1; t < plan.class_of.size(); ++t)
    if (memory_of(plan.classes[plan.class_of[t]]) > memory_of(plan.classes[plan.class_of[task]])) task = t;
  const PlanClass& role = plan.classes[plan.class_of[task]];
  const auto needed =
      static_cast<std::int64_t>(std::min<std::uint64_t>(memory_of(role), std::numeric_limits<std::int64_t>::max()));
  if (needed <= most) return;
  Error error(Code::plan, "task " + std::to_string(task) + " needs " + bytes_text(needed) +
                              " of memory; its budget is " + bytes_text(most));
  const std::vector<LargeValue> values = largest_values(plan, role, kNamed, [](std::uint32_t) { return true; });
  if (!values.empty()) error.at(values[0].line);
  for (const LargeValue& value : values)
    error.note(value.text + (value.line.known() ? formatted(" at {}", value.line.str()) : ""));
  throw error.hint("more tasks to split over, a smaller batch, or --budget memory={}, the smallest that would do",
                   needed);
}

}  // namespace

void check_budget(const Plan& plan, const Budget& budget) {
  if (budget.bytes || budget.messages) {
    const std::vector<MessageCost> costs = message_costs(plan);
    if (budget.bytes) check(costs, {"bytes", *budget.bytes, &MessageCost::bytes, bytes_text});
    if (budget.messages) check(costs, {"messages", *budget.messages, &MessageCost::messages, messages_text});
  }
  if (budget.memory && !plan.class_of.empty()) check_memory(plan, *budget.memory);
}

}  // namespace ferry
