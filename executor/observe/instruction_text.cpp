#include "executor/observe/instruction_text.hpp"

#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

bool communicates(Opcode what) {
  return (what >= Opcode::send && what <= Opcode::collective) || what == Opcode::collective_wait;
}

std::string peers_text(const Plan& plan, const Instruction& instruction, int task) {
  if (instruction.what != Opcode::collective && instruction.what != Opcode::collective_wait) {
    const Channel& channel = plan.channels[instruction.channel()];
    return channel.from == task ? " to task " + std::to_string(channel.to)
                                : " from task " + std::to_string(channel.from);
  }
  const Collective& collective = plan.collectives[instruction.collective()];
  std::vector<std::string> tasks;
  for (std::int32_t other : *membership(plan.groupings[collective.grouping], task).group)
    if (other != task) tasks.push_back(std::to_string(other));
  return (tasks.size() == 1 ? " with task " : " with tasks ") + join(tasks, ", ");
}

}  // namespace

std::string at_line(const Plan& plan, const Instruction& instruction) {
  const SourceLine line = plan.line(instruction.line);
  return line.known() ? " at " + line.str() : "";
}

std::string pending_text(const Plan& plan, const Instruction& instruction, int task) {
  std::string text = formatted("{} of {:?}", name_of(instruction.what), plan.string(instruction.name));
  if (communicates(instruction.what)) text += peers_text(plan, instruction, task);
  return text + at_line(plan, instruction);
}

std::string instruction_text(const Plan& plan, const Instruction& instruction, int task) {
  if (communicates(instruction.what)) return pending_text(plan, instruction, task);
  std::string what(plan.string(instruction.op));
  if (what.empty()) what = name_of(instruction.what);
  return formatted("{} {:?}{}", as_is(what), plan.string(instruction.name), as_is(at_line(plan, instruction)));
}

}  // namespace ferry
