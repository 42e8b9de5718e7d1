// Swaps: copies at the end of a loop's body for which the executor may exchange the addresses of the two buffers. In
// every second iteration, each buffer then has the bytes of the other. This is correct if all instructions of the loop
// that touch these bytes touch one of the two buffers or its views, and if no instruction touches the buffers after the
// swap. check_memory() checks that nothing reads the swapped input before it is written again.
#include <set>
#include <vector>

#include "plan/verify/class_view.hpp"

namespace ferry::verifier {
namespace {

class Swaps : ClassView {
 public:
  Swaps(const Plan& plan, const PlanClass& plan_class) : ClassView(plan, plan_class) {}

  std::size_t check() {
    for (const Instruction& i : class_.instructions)
      if (i.what == Opcode::loop) check_loop(i);
    for (const Instruction& i : class_.instructions)
      if (i.swaps() && !checked_.contains(&i)) reject(describe(plan_, i) + " swaps outside of the body of a loop");
    return checked_.size();
  }

 private:
  void check_loop(const Instruction& loop) {
    std::vector<const Instruction*> swaps;
    each_instruction(loop.other_region(), [&](const Instruction& i) {
      for (const Instruction* const swap : swaps) check_after(*swap, i);
      if (!i.swaps()) return;
      check_pair(i, loop);
      swaps.push_back(&i);
    });
    for (const Instruction* const swap : swaps)
      for (const RegionId region : {loop.region(), loop.other_region()})
        each_instruction(region, [&](const Instruction& i) { check_inside(*swap, i); });
    checked_.insert(swaps.begin(), swaps.end());
  }

  [[nodiscard]] std::uint32_t next(const Instruction& swap) const { return operand(swap.inputs, 0); }
  [[nodiscard]] std::uint32_t carried(const Instruction& swap) const { return operand(swap.outputs, 0); }
  [[nodiscard]] std::uint32_t storage(std::uint32_t b) const {
    return class_.buffers[b].view_of == kNone ? BufferId(b) : class_.buffers[b].view_of;
  }

  /// Checks that the two buffers have bytes of their own, equally many, and that the loop carries the output.
  void check_pair(const Instruction& swap, const Instruction& loop) const {
    bool is_carried = false;
    each(loop.outputs, [&](std::uint32_t b) { is_carried = is_carried || b == carried(swap); });
    const Buffer &a = class_.buffers[next(swap)], &b = class_.buffers[carried(swap)];
    const auto plain = [&](const Buffer& buffer) {
      return buffer.view_of == kNone && buffer.space == Buffer::Space::step && !buffer.bounded &&
             class_.devices[buffer.device].kind == DeviceKind::cpu;
    };
    if (!is_carried || !plain(a) || !plain(b) || a.bytes != b.bytes || swap.scratch != kNone ||
        overlap(next(swap), carried(swap)) || !class_.queues.empty())
      reject(describe(plan_, swap) + " cannot swap " + named(next(swap)) + " and " + named(carried(swap)));
  }

  /// Checks that an instruction after the swap does not touch its buffers.
  void check_after(const Instruction& swap, const Instruction& i) const {
    each_touched(i, [&](std::uint32_t b) {
      if (storage(b) == next(swap) || storage(b) == carried(swap))
        reject(describe(plan_, i) + " touches " + named(b) + " after its swap");
    });
  }

  /// Checks that an instruction of the loop touches bytes of the two buffers only as these buffers or their views, and
  /// that the executor can exchange its addresses. It cannot for collectives, which are prepared with their addresses,
  /// nor for inner loops and branches, which may run in some iterations only.
  void check_inside(const Instruction& swap, const Instruction& i) const {
    if (i.what == Opcode::loop || i.what == Opcode::branch)
      reject(describe(plan_, i) + " is in a loop that swaps " + named(carried(swap)));
    const bool fixed = i.what == Opcode::collective || i.what == Opcode::collective_wait;
    each_touched(i, [&](std::uint32_t b) {
      const bool own = storage(b) == next(swap) || storage(b) == carried(swap);
      if (own ? fixed : meets(b, next(swap)) || meets(b, carried(swap)))
        reject(describe(plan_, i) + " touches " + named(b) + ", which has bytes of " + named(next(swap)) + " or " +
               named(carried(swap)) + ", in the loop that swaps these");
    });
  }

  /// Whether the bytes of `b`, or the extent in front of them, overlap the bytes of `swapped`.
  [[nodiscard]] bool meets(std::uint32_t b, std::uint32_t swapped) const {
    const Buffer &other = class_.buffers[b], &own = class_.buffers[swapped];
    const std::uint64_t begin = other.offset - (other.bounded ? kExtentBytes : 0);
    return other.space == own.space && other.device == own.device && begin < own.offset + own.bytes &&
           own.offset < other.offset + other.bytes;
  }

  /// Calls f for the operands and the scratch buffer of the instruction, and of the kernels of its region.
  template <class F>
  void each_touched(const Instruction& i, const F& f) const {
    each(i.inputs, f);
    each(i.outputs, f);
    if (i.scratch != kNone) f(i.scratch);
    if (i.what == Opcode::tiles || i.what == Opcode::stencil)
      each_instruction(i.region(), [&](const Instruction& member) { each_touched(member, f); });
  }

  std::set<const Instruction*> checked_;
};

}  // namespace

std::size_t check_swaps(const Plan& plan) {
  std::size_t found = 0;
  for (const PlanClass& plan_class : plan.classes) found += Swaps(plan, plan_class).check();
  return found;
}

}  // namespace ferry::verifier
