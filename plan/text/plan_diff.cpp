#include "plan/text/plan_diff.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/traffic/costs.hpp"

namespace ferry {
namespace {

/// "3", "0-2", "0-1,4".
std::string ranges(std::vector<std::int32_t> tasks) {
  std::ranges::sort(tasks);
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t end = i + 1;
    while (end < tasks.size() && tasks[end] == tasks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(tasks[i]);
    if (end - i > 1) text += "-" + std::to_string(tasks[end - 1]);
    i = end;
  }
  return text;
}

struct PlacedOp {
  SourceLine line;
  std::vector<std::int32_t> tasks;
  std::string device, layout;

  [[nodiscard]] std::string text() const {
    return (tasks.size() == 1 ? "/task:" : "/task:[") + ranges(tasks) + (tasks.size() == 1 ? "" : "]") + device +
           layout;
  }
};

/// The ops of a plan by name, and the names in plan order.
struct PlacedOps {
  std::vector<std::string> order;
  std::map<std::string, PlacedOp> of;
};

std::string layout_of(const Plan& plan, const PlanClass& role, const Instruction& instruction) {
  std::string text;
  if (instruction.outputs.count == 0) return text;
  const Buffer& buffer = role.buffers[role.outputs(instruction)[0]];
  if (buffer.window == kNone) return text;
  for (const SplitDim& split : plan.windows[buffer.window].splits) {
    const Grouping& grouping = plan.groupings[split.grouping];
    text += ", dim " + std::to_string(split.dim) + " split over " +
            plural(grouping.empty() ? 0 : grouping[0].size(), "task");
  }
  return text;
}

PlacedOps placed_ops(const Plan& plan) {
  std::vector<std::vector<std::int32_t>> tasks(plan.classes.size());
  for (std::size_t t = 0; t < plan.class_of.size(); ++t)
    tasks[plan.class_of[t]].push_back(static_cast<std::int32_t>(t));
  PlacedOps ops;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const PlanClass& role = plan.classes[c];
    for (const Instruction& instruction : role.instructions) {
      if (instruction.what != Opcode::kernel || instruction.name == kNone) continue;
      const std::string name(plan.string(instruction.name));
      const auto [at, fresh] = ops.of.try_emplace(name);
      PlacedOp& op = at->second;
      if (fresh) {
        ops.order.push_back(name);
        op.line = plan.line(instruction.line);
        const std::uint32_t device =
            instruction.outputs.count > 0 ? role.buffers[role.outputs(instruction)[0]].device : 0;
        op.device =
            "/" + std::string(name_of(role.devices[device].kind)) + ":" + std::to_string(role.devices[device].index);
        op.layout = layout_of(plan, role, instruction);
      }
      if (op.tasks.empty() || op.tasks.back() != tasks[c].back())
        op.tasks.insert(op.tasks.end(), tasks[c].begin(), tasks[c].end());
    }
  }
  return ops;
}

void compare_ops(const Plan& before, const Plan& after, PlanDiff& result) {
  const PlacedOps old = placed_ops(before), now = placed_ops(after);
  for (const std::string& name : now.order) {
    const PlacedOp& op = now.of.at(name);
    const auto was = old.of.find(name);
    if (was == old.of.end()) {
      result.ops.push_back({name, op.line, std::nullopt, op.text()});
      continue;
    }
    ++result.ops_in_both;
    if (was->second.text() != op.text()) result.ops.push_back({name, op.line, was->second.text(), op.text()});
  }
  for (const std::string& name : old.order)
    if (const PlacedOp& op = old.of.at(name); !now.of.contains(name))
      result.ops.push_back({name, op.line, op.text(), std::nullopt});
}

void compare_messages(const Plan& before, const Plan& after, PlanDiff& result) {
  std::map<std::string, std::size_t> numbers;
  std::vector<PlanDiff::Message> all;
  const auto at = [&](const MessageCost& cost) -> PlanDiff::Message& {
    const auto [number, fresh] = numbers.try_emplace(cost.line.known() ? cost.line.str() : ":" + cost.name, all.size());
    if (fresh) all.push_back({cost.name, cost.line, {}, {}});
    return all[number->second];
  };
  for (const MessageCost& cost : message_costs(after)) {
    PlanDiff::Message& message = at(cost);
    message.messages.after += cost.messages;
    message.bytes.after += cost.bytes;
  }
  for (const MessageCost& cost : message_costs(before)) {
    PlanDiff::Message& message = at(cost);
    message.messages.before += cost.messages;
    message.bytes.before += cost.bytes;
  }
  for (PlanDiff::Message& message : all) {
    result.messages.before += message.messages.before;
    result.messages.after += message.messages.after;
    result.bytes.before += message.bytes.before;
    result.bytes.after += message.bytes.after;
    if (message.messages.differs() || message.bytes.differs()) result.by_line.push_back(std::move(message));
  }
}

void compare_memory(const Plan& before, const Plan& after, PlanDiff& result) {
  const auto memory = [](const Plan& plan, std::size_t task) {
    return task < plan.class_of.size() ? static_cast<std::int64_t>(memory_of(plan.classes[plan.class_of[task]])) : 0;
  };
  for (std::size_t t = 0; t < std::max(before.class_of.size(), after.class_of.size()); ++t)
    if (const Change bytes{memory(before, t), memory(after, t)}; bytes.differs())
      result.memory.push_back({static_cast<std::int32_t>(t), bytes});
}

std::string text_of(const Change& change) {
  return std::to_string(change.before) + " -> " + std::to_string(change.after);
}

std::string bytes_text(const Change& change) {
  const auto human = [](std::int64_t bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); };
  return human(change.before) + " -> " + human(change.after);
}

std::string where(const SourceLine& line) {
  return line.known() ? formatted("  at {}", line.str()) : "";
}

}  // namespace

bool PlanDiff::empty() const {
  return !tasks.differs() && !copies.differs() && by_line.empty() && ops.empty() && memory.empty();
}

std::string PlanDiff::text() const {
  if (empty()) return "no difference\n";
  std::string text;
  if (tasks.differs()) text += "tasks " + text_of(tasks) + "\n";
  if (messages.differs()) text += "messages a step " + text_of(messages) + "\n";
  if (bytes.differs()) text += "bytes sent a step " + text_of(bytes) + "\n";
  if (copies.differs()) text += "copies a step " + text_of(copies) + "\n";
  for (const Message& message : by_line)
    text += formatted("sent {}: {} messages, {} bytes{}\n", message.name, as_is(text_of(message.messages)),
                      as_is(text_of(message.bytes)), as_is(where(message.line)));
  for (const Op& op : ops)
    text += formatted("op {}: {}{}\n", op.name,
                      as_is(!op.before  ? "new, on " + *op.after
                            : !op.after ? "gone, was on " + *op.before
                                        : *op.before + " -> " + *op.after),
                      as_is(where(op.line)));
  for (const Memory& task : memory)
    text += "memory of task " + std::to_string(task.task) + ": " + bytes_text(task.bytes) + "\n";
  return text;
}

PlanDiff diff(const Plan& before, const Plan& after) {
  PlanDiff result;
  result.tasks = {static_cast<std::int64_t>(before.class_of.size()), static_cast<std::int64_t>(after.class_of.size())};
  result.copies = {copies_of(before), copies_of(after)};
  compare_messages(before, after, result);
  compare_ops(before, after, result);
  compare_memory(before, after, result);
  return result;
}

}  // namespace ferry
