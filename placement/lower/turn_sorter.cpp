#include "placement/lower/turn_sorter.hpp"

#include <algorithm>
#include <numeric>

namespace ferry {

TurnSorter::TurnSorter(const ProgramServing& serving, const Program& program, const MessageNumbers& messages,
                       ClassPlan& plan)
    : serving_(serving), program_(program), plan_(plan) {
  for (const auto& [node, channels] : messages.channels)
    if (const auto turn = program.turns.find(node); turn != program.turns.end())
      worker_of_[channels.first] = turn->second.worker;
}

void TurnSorter::assign_turn(NodeId id) {
  const auto turn = program_.turns.find(id);
  std::uint32_t at = rest_;
  if (turn != program_.turns.end()) {
    at = place(turn->second.worker, turn->second.take);
    rest_ = after();
  }
  const std::vector<Instruction>& step = plan_.list(1);
  while (turns_.size() < step.size()) turns_.push_back(turn_of(step[turns_.size()], at));
}

std::uint32_t TurnSorter::turn_of(const Instruction& instruction, std::uint32_t of_node) const {
  switch (instruction.what) {
    case Opcode::send:
    case Opcode::receive:
      return place(worker_of_.at(instruction.channel()), false);
    case Opcode::send_wait:
    case Opcode::receive_wait:
      return place(worker_of_.at(instruction.channel()), true);
    default:
      return of_node;
  }
}

void TurnSorter::arrange() {
  std::vector<Instruction>& step = plan_.list(1);
  while (turns_.size() < step.size()) turns_.push_back(turn_of(step[turns_.size()], after()));
  keep(step, turns_);
  const auto key = [&](std::uint32_t i) {
    const Opcode what = step[i].what;
    const bool assigns = what == Opcode::copy && step[i].attrs != kNone;
    return std::pair(turns_[i], what == Opcode::receive_wait ? 0 : what == Opcode::send_wait ? 1 : assigns ? 3 : 2);
  };
  std::vector<std::uint32_t> order(step.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, key);
  std::vector<Instruction> arranged;
  arranged.reserve(step.size());
  std::vector<Range> ranges(after() + 1);
  for (const std::uint32_t i : order) {
    Range& range = ranges[turns_[i]];
    if (range.count++ == 0) range.first = static_cast<std::uint32_t>(arranged.size());
    arranged.push_back(step[i]);
    arranged.back().may = 0;
  }
  step = std::move(arranged);
  Serving& serving = plan_.role.serving;
  serving.staleness = serving_.staleness;
  for (std::uint32_t w = 0; w < workers(); ++w)
    serving.turns.push_back({serving_.workers[w], ranges[place(w, false)], ranges[place(w, true)]});
  plan_.role.threads = 1;
}

/// Moves a buffer to the state if two turns use it, or a turn and the rest of the step: its bytes must last from step
/// to step.
void TurnSorter::keep(const std::vector<Instruction>& step, const std::vector<std::uint32_t>& turns) {
  constexpr std::uint32_t kSeveral = kNone - 1;
  std::vector<std::uint32_t> touched(plan_.role.buffers.size(), kNone);
  const auto rest = [&](std::uint32_t turn) { return turn == after() ? 0 : turn; };  // before or after all turns
  for (std::size_t i = 0; i < step.size(); ++i)
    for (const Range range : {step[i].inputs, step[i].outputs})
      for (const std::uint32_t k : range) {
        std::uint32_t& turn = touched[storage_of(plan_.role, plan_.role.operands[k])];
        turn = turn == kNone || turn == rest(turns[i]) ? rest(turns[i]) : kSeveral;
      }
  for (std::uint32_t b = 0; b < touched.size(); ++b)
    if (touched[b] == kSeveral && plan_.role.buffers[b].space == Buffer::Space::step)
      plan_.role.buffers[b].space = Buffer::Space::state;
}

}  // namespace ferry
