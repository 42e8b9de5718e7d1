// Captured stretches: a device gets the work of a stretch in one submission, at the first instruction of the stretch.
// This equals submitting the instructions one by one if no event is inside: a wait inside would be lost, and an event
// for others would be recorded too late. The submission is the same each time, because the plan fixes the addresses and
// sizes.
#include "plan/verify/class_view.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

class Stretches : private ClassView {
 public:
  Stretches(const Plan& plan, const PlanClass& plan_class)
      : ClassView(plan, plan_class), stretch_of_(class_.instructions.size(), kNone) {}

  void check() {
    for (std::uint32_t s = 0; s < class_.stretches.size(); ++s) {
      const Range stretch = class_.stretches[s];
      if (stretch.count < 2) refuse(stretch.first, "is captured alone");
      for (const std::uint32_t i : stretch) {
        if (stretch_of_[i] != kNone) refuse(i, "is in two captured stretches");
        stretch_of_[i] = s;
        check_work(i, stretch.first);
      }
      if (s > 0 && stretch.first < class_.stretches[s - 1].first)
        refuse(stretch.first, "begins a captured stretch that is not in the order of the list");
    }
    for (const Region& region : class_.regions) check_region(region);
  }

 private:
  [[noreturn]] void refuse(std::uint32_t i, const std::string& why) const {
    reject(describe(plan_, class_.instructions[i]) + " " + why);
  }

  void check_work(std::uint32_t at, std::uint32_t first) const {
    const Instruction& i = class_.instructions[at];
    const bool runs = i.what == Opcode::kernel || i.what == Opcode::copy || i.what == Opcode::tiles;
    if (!class_.on_queue(i) || !runs) refuse(at, "is captured, but is no work of a device");
    const PlanQueue& queue = class_.queues[i.strand - class_.threads];
    if (queue.role != PlanQueue::Role::compute) refuse(at, "is captured, but is not on a compute queue");
    if (i.strand != class_.instructions[first].strand) refuse(at, "is captured with work of another queue");
    if (at != first && i.waits.count > 0) refuse(at, "waits in the middle of a captured stretch");
    for (const Range operands : {i.inputs, i.outputs})
      each(operands, [&](std::uint32_t b) {
        const Buffer& buffer = class_.buffers[b];
        if (buffer.bounded) refuse(at, "is captured, but the extent of " + named(b) + " is not the same each time");
        if (buffer.device != queue.device && buffer.space != Buffer::Space::none)
          refuse(at, "is captured, but " + named(b) + " is on another device");
      });
  }

  /// Checks that no stretch continues into another region, or is in a region that runs only once or is a part of an
  /// instruction. An instruction that others wait for must be the last one of its stretch.
  void check_region(const Region& region) const {
    const std::uint32_t begin = region.instructions.first, end = begin + region.instructions.count;
    const bool runs_again = region.kind != Region::Kind::setup && region.kind != Region::Kind::tile;
    std::vector<std::vector<std::uint32_t>> of_strand(class_.strands());
    for (std::uint32_t at = begin; at < end; ++at) {
      const Instruction& i = class_.instructions[at];
      if (stretch_of_[at] != kNone) {
        const Range stretch = class_.stretches[stretch_of_[at]];
        if (!runs_again) refuse(at, "is captured, but runs once, or as a part of an instruction");
        if (stretch.first < begin || stretch.first + stretch.count > end)
          refuse(at, "is captured with work of another region");
      }
      for (const std::uint32_t w : i.waits) {
        const Wait& wait = class_.waits[w];
        if (wait.count == 0 || wait.count > of_strand[wait.strand].size()) continue;
        const std::uint32_t awaited = of_strand[wait.strand][wait.count - 1], stretch = stretch_of_[awaited];
        if (stretch != kNone && awaited + 1 < class_.stretches[stretch].first + class_.stretches[stretch].count)
          refuse(awaited, "is in the middle of a captured stretch, and " + describe(plan_, i) + " waits for it");
      }
      of_strand[i.strand].push_back(at);
    }
  }

  std::vector<std::uint32_t> stretch_of_;  // of each instruction
};

}  // namespace

std::size_t check_stretches(const Plan& plan) {
  std::size_t count = 0;
  for (const PlanClass& plan_class : plan.classes) {
    if (plan_class.stretches.empty()) continue;
    Stretches(plan, plan_class).check();
    count += plan_class.stretches.size();
  }
  return count;
}

}  // namespace ferry::verifier
