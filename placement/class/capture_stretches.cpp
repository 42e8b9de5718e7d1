#include "placement/class/capture_stretches.hpp"

#include <algorithm>
#include <vector>

namespace ferry {
namespace {

class StretchFinder {
 public:
  explicit StretchFinder(PlanClass& plan) : plan_(plan) {}

  void run() {
    if (plan_.queues.empty()) return;
    std::vector<Range> ranges;  // of regions that may run more than once
    for (const Region& region : plan_.regions)
      if (region.kind != Region::Kind::setup && region.kind != Region::Kind::tile)
        ranges.push_back(region.instructions);
    std::ranges::sort(ranges, {}, &Range::first);
    for (const Range range : ranges) find(range);
  }

 private:
  void find(Range range) {
    const std::vector<bool> awaited = find_awaited(range);
    Range stretch{range.first, 0};
    const auto end = [&](std::uint32_t next) {
      if (stretch.count > 1) plan_.stretches.push_back(stretch);
      stretch = {next, 0};
    };
    for (const std::uint32_t i : range) {
      const Instruction& instruction = plan_.instructions[i];
      if (!can_be_captured(instruction)) {
        end(i + 1);
        continue;
      }
      if (instruction.waits.count > 0 || instruction.strand != plan_.instructions[stretch.first].strand) end(i);
      ++stretch.count;
      if (awaited[i - range.first]) end(i + 1);
    }
    end(0);
  }

  /// For each instruction of the region, whether another strand waits for it.
  [[nodiscard]] std::vector<bool> find_awaited(Range range) const {
    std::vector<bool> awaited(range.count, false);
    std::vector<std::vector<std::uint32_t>> of_strand(plan_.strands());
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const Instruction& instruction = plan_.instructions[range[i]];
      for (const std::uint32_t w : instruction.waits)
        if (const Wait wait = plan_.waits[w]; wait.count > 0) awaited[of_strand[wait.strand][wait.count - 1]] = true;
      of_strand[instruction.strand].push_back(i);
    }
    return awaited;
  }

  [[nodiscard]] bool can_be_captured(const Instruction& instruction) const {
    if (!plan_.on_queue(instruction)) return false;
    if (plan_.queues[instruction.strand - plan_.threads].role != PlanQueue::Role::compute) return false;
    const bool runs =
        instruction.what == Opcode::kernel || instruction.what == Opcode::copy || instruction.what == Opcode::tiles;
    return runs && !has_bounded(instruction.inputs) && !has_bounded(instruction.outputs);
  }

  /// Whether an operand is bounded. The host reads the extents of bounded values each time that it issues the work.
  [[nodiscard]] bool has_bounded(Range operands) const {
    for (const std::uint32_t k : operands)
      if (plan_.buffers[plan_.operands[k]].bounded) return true;
    return false;
  }

  PlanClass& plan_;
};

}  // namespace

void capture_stretches(ClassPlan& plan) {
  StretchFinder(plan.role).run();
}

}  // namespace ferry
