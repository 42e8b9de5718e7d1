// Checks extents. A bounded value has its number of elements, the extent, stored before its elements. Kernels and feeds
// write the extent; copies and messages on channels move it together with the elements. An instruction that moves only
// elements would leave an old extent in place. For kernels, check_types checks this.
#include <algorithm>
#include <string>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

class Extents {
 public:
  Extents(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  void check() const {
    for (const PlanVariable& variable : class_.variables)
      if (class_.buffers[variable.buffer].bounded)
        reject("variable '" + std::string(plan_.string(variable.name)) + "' is bounded, and nobody writes its extent");
    for (std::uint32_t b = 0; b < class_.buffers.size(); ++b) check_view(b);
    for (const Instruction& i : class_.instructions) check(i);
  }

 private:
  [[nodiscard]] bool has_bounded(Range range) const {
    const auto first = class_.operands.begin() + range.first;
    return std::any_of(first, first + range.count, [&](std::uint32_t b) { return class_.buffers[b].bounded; });
  }

  /// Requires the same bound of a bounded view and its base buffer, because they share the extent.
  void check_view(std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (!b.bounded || b.view_of == kNone || class_.buffers[b.view_of].sizes[0] == b.sizes[0]) return;
    reject("buffer " + std::to_string(id) + " ('" + std::string(plan_.string(b.name)) +
           "') is a view of a value with another bound, and so with another extent");
  }

  void check(const Instruction& i) const {
    switch (i.what) {
      case Opcode::collective:
        if (!takes_extent(plan_.collectives[i.collective()]) && (has_bounded(i.inputs) || has_bounded(i.outputs)))
          refuse(i, "it moves elements and not their extent");
        return;
      default:
        return;
    }
  }

  /// Only a broadcast moves the extent: it sends the root's bytes with the extent before them.
  [[nodiscard]] bool takes_extent(const Collective& collective) const {
    return plan_.schedules[collective.schedule].kind == CollectiveKind::broadcast;
  }

  [[noreturn]] void refuse(const Instruction& i, const std::string& why) const {
    reject(describe(plan_, i) + ": " + why);
  }

  const Plan& plan_;
  const PlanClass& class_;
};

}  // namespace

void check_extents(const Plan& plan) {
  for (const PlanClass& plan_class : plan.classes) Extents(plan, plan_class).check();
}

}  // namespace ferry::verifier
