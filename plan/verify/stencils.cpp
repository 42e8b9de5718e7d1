// Stencils: kernels on windows, which read their inputs in place. A first part computes the inside, a second part the
// edges. This is correct if no kernel of the stencil writes a value that is read through a window, and if all other
// elements depend only on elements at their own place. The executor checks that the kernels really are windows or
// elementwise.
#include <algorithm>
#include <set>

#include "ops/control/comm.hpp"
#include "plan/verify/class_view.hpp"

namespace ferry::verifier {
namespace {

using Set = std::set<std::uint32_t>;

class Stencils : ClassView {
 public:
  Stencils(const Plan& plan, const PlanClass& plan_class) : ClassView(plan, plan_class) {}

  std::size_t check() {
    std::size_t found = 0;
    for (RegionId region = 0; region < class_.regions.size(); ++region)
      each_instruction(region, [&](const Instruction& i) {
        if (i.what == Opcode::stencil_begin) check_begin(i, region);
        if (i.what != Opcode::stencil) return;
        check_stencil(i);
        ++found;
      });
    return found;
  }

 private:
  [[nodiscard]] bool is_window(const Instruction& i) const { return plan_.string(i.op) == kWindow.name; }
  [[nodiscard]] Set listed(Range range) const {
    Set all;
    each(range, [&](std::uint32_t b) { all.insert(b); });
    return all;
  }

  // ---- A stencil ----

  /// The buffers in memory that the kernels of a stencil use, by kind of use.
  struct Uses {
    Set through_windows, halos, read, written;
  };

  [[nodiscard]] Uses uses_of(const Instruction& stencil) const {
    Uses uses;
    each_instruction(stencil.region(), [&](const Instruction& i) {
      for (std::uint32_t k = 0; k < i.inputs.count; ++k) {
        const std::uint32_t b = operand(i.inputs, k);
        if (is_window(i)) (k == 1 ? uses.halos : uses.through_windows).insert(b);
        if (!is_window(i) && !in_slot(b) && !uses.written.contains(b)) uses.read.insert(b);
      }
      each(i.outputs, [&](std::uint32_t b) {
        if (!in_slot(b)) uses.written.insert(b);
      });
    });
    return uses;
  }

  void check_stencil(const Instruction& stencil) const {
    const Region& region = class_.regions[stencil.region()];
    if (region.kind != Region::Kind::tile || region.instructions.count < 2 ||
        region.instructions.count > kTileKernels || stencil.strand != 0 || stencil.scratch != kNone)
      reject(describe(plan_, stencil) + ": region " + std::to_string(stencil.region()) + " is no region of a stencil");
    const Instruction& last = class_.instructions[region.instructions.first + region.instructions.count - 1];
    if (is_window(last)) reject(describe(plan_, stencil) + " has no kernel on its windows");
    bool windows = true;
    each_instruction(stencil.region(), [&](const Instruction& i) {
      if (is_window(i) && !windows) reject(describe(plan_, i) + " is a window after other kernels of a stencil");
      windows = is_window(i);
      check_member(i, stencil, operand(last.outputs, 0));
    });
    const Uses uses = uses_of(stencil);
    Set read = uses.read;
    read.insert(uses.through_windows.begin(), uses.through_windows.end());
    read.insert(uses.halos.begin(), uses.halos.end());
    if (listed(stencil.inputs) != read)
      reject(describe(plan_, stencil) + ": its inputs differ from its kernels' inputs");
    if (listed(stencil.outputs) != uses.written)
      reject(describe(plan_, stencil) + ": its outputs differ from its kernels' outputs");
    for (const std::uint32_t written : uses.written) {
      for (const Set* shifted : {&uses.through_windows, &uses.halos})
        for (const std::uint32_t b : *shifted)
          if (overlap(written, b))
            reject(describe(plan_, stencil) + " writes " + named(written) + " over " + named(b) +
                   ", which it reads at other places");
      for (const Set* others : {&uses.read, &uses.written})
        for (const std::uint32_t b : *others)
          if (b != written && overlap(written, b) && !coincide(written, b))
            reject(describe(plan_, stencil) + " writes " + named(written) + " over other elements of " + named(b));
    }
  }

  /// Checks that a window makes a value in a slot, and that another kernel reads and makes values with as many
  /// elements, or reads values of one element.
  void check_member(const Instruction& i, const Instruction& stencil, std::uint32_t like) const {
    if (i.what != Opcode::kernel || i.strand != 0 || i.waits.count > 0 || i.scratch != kNone || i.outputs.count != 1 ||
        i.inputs.count > kTileInputs)
      reject(describe(plan_, i) + " cannot be part of " + describe(plan_, stencil));
    const std::uint32_t out = operand(i.outputs, 0);
    if (class_.buffers[out].sizes != class_.buffers[like].sizes || !plain(out) || (is_window(i) && !in_slot(out)))
      reject(describe(plan_, i) + " makes " + named(out) + ", which is no value of " + describe(plan_, stencil));
    if (in_slot(out) &&
        class_.buffers[out].offset + std::uint64_t{stencil.tile_elements()} * size_of(class_.buffers[out].dtype) >
            kSlotBytes)
      reject(describe(plan_, i) + ": " + named(out) + " ends behind the slots of its thread");
    each(i.inputs, [&](std::uint32_t b) {
      const bool fits =
          is_window(i) ? !in_slot(b) : plain(b) && (count(b) == count(out) || (count(b) == 1 && !in_slot(b)));
      if (!fits) reject(describe(plan_, i) + " reads " + named(b) + ", which has not the elements that it makes");
    });
  }

  [[nodiscard]] bool plain(std::uint32_t b) const {
    const Buffer& buffer = class_.buffers[b];
    return !buffer.bounded && buffer.space != Buffer::Space::none &&
           class_.devices[buffer.device].kind == DeviceKind::cpu;
  }
  /// Whether the elements of the two buffers are at the same offsets.
  [[nodiscard]] bool coincide(std::uint32_t a_id, std::uint32_t b_id) const {
    const Buffer &a = class_.buffers[a_id], &b = class_.buffers[b_id];
    return a.offset == b.offset && a.bytes == b.bytes && size_of(a.dtype) == size_of(b.dtype);
  }

  // ---- Its begin ----

  /// Checks that exactly one stencil_begin begins the stencil of its region, and that the stencil follows it in the
  /// same list.
  void check_begin(const Instruction& begin, std::uint32_t list) const {
    const Instruction* stencil = nullptr;
    std::size_t begins = 0;
    each_instruction(list, [&](const Instruction& i) {
      if (i.region() != begin.region()) return;
      if (i.what == Opcode::stencil_begin) ++begins;
      if (i.what == Opcode::stencil && &i > &begin) stencil = &i;
    });
    if (stencil == nullptr || begins != 1 || begin.strand != 0 || begin.scratch != kNone ||
        begin.tile_elements() != stencil->tile_elements())
      reject(describe(plan_, begin) + " begins no stencil that follows, or one that has begun");
    const Uses uses = uses_of(*stencil);
    Set read = uses.read;
    read.insert(uses.through_windows.begin(), uses.through_windows.end());
    if (listed(begin.inputs) != read || listed(begin.outputs) != uses.written)
      reject(describe(plan_, begin) + ": its operands differ from its stencil's operands without halos");
  }
};

}  // namespace

std::size_t check_stencils(const Plan& plan) {
  std::size_t found = 0;
  for (const PlanClass& plan_class : plan.classes) found += Stencils(plan, plan_class).check();
  return found;
}

}  // namespace ferry::verifier
