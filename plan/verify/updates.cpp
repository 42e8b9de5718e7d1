// Updates: within a step, or a turn of it, a variable has its old value until an instruction writes it, and its new
// value from then on. So only one instruction may write it, and only in the step itself. A copy at the end of a step,
// when nothing needs the old value any more, sets the variable for the next step: nothing may read the variable after
// it. The setup may only read variables that the step does not write, and only at its end, in kernels that can run
// again before any step.
#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

class Updates {
 public:
  Updates(const Plan& plan, const PlanClass& plan_class)
      : plan_(plan),
        class_(plan_class),
        variable_(plan_class.buffers.size(), false),
        packed_(plan_class.buffers.size(), nullptr),
        writer_(plan_class.buffers.size()) {
    for (const PlanVariable& variable : class_.variables) variable_[variable.buffer] = true;
  }

  void check() {
    if (class_.variables.empty()) return;
    check_setup();
    for (std::uint32_t r = 0; r < class_.regions.size(); ++r)
      if (r != 1 && class_.regions[r].kind != Region::Kind::tile)  // its `tiles` instruction lists its outputs
        each(r, [&](const Instruction& i) {
          each_variable(i.outputs, [&](std::uint32_t v) { refuse(i, v, "outside of the step itself"); });
        });
    each(1, [&](const Instruction& i) {
      if (begins_turn(i)) std::fill(writer_.begin(), writer_.end(), nullptr);
      each_variable(i.inputs, [&](std::uint32_t v) { check_read(i, v); });
      if (i.what == Opcode::loop || i.what == Opcode::branch) check_inside(i);
      if (i.what == Opcode::stencil_begin) return;  // the stencil counts as the write
      each_variable(i.outputs, [&](std::uint32_t v) {
        if (writer_[v] != nullptr) refuse(i, v, "for the second time in a step");
        if (packed_[v] != nullptr) refuse(i, v, "and " + describe(plan_, *packed_[v]) + " reads it in the setup");
        writer_[v] = &i;
      });
    });
  }

 private:
  template <class F>
  void each(RegionId region, F f) const {
    const Range range = class_.regions[region].instructions;
    for (const std::uint32_t k : range) f(class_.instructions[k]);
  }
  template <class F>
  void each_variable(Range operands, F f) const {
    for (const std::uint32_t k : operands) {
      const std::uint32_t b = class_.operands[k];
      const BufferId storage = class_.buffers[b].view_of == kNone ? BufferId(b) : class_.buffers[b].view_of;
      if (variable_[storage]) f(storage);
    }
  }

  /// Checks the instructions of the setup that read variables. They run again, without the rest of the setup, before
  /// the step after a variable has got another value.
  void check_setup() {
    bool packs = false;
    each(0, [&](const Instruction& i) {
      std::uint32_t variables = 0;
      each_variable(i.inputs, [&](std::uint32_t v) {
        ++variables;
        packed_[v] = &i;
      });
      packs = packs || variables > 0 || reads_inside(i);
      if (!packs) return;
      if (i.inputs.count == 0 || variables != i.inputs.count)
        reject(describe(plan_, i) +
               " of the setup reads something else than variables, and it or an earlier one reads a variable");
      if (i.what != Opcode::kernel || i.strand >= class_.threads || i.scratch != kNone)
        reject(describe(plan_, i) + " of the setup reads a variable, and cannot run again before any step");
      for (const std::uint32_t k : i.outputs)
        if (class_.buffers[class_.operands[k]].space != Buffer::Space::state)
          reject(describe(plan_, i) + " of the setup reads a variable, and its output is not kept from step to step");
    });
  }

  /// Whether an instruction in the regions of a loop or branch reads a variable.
  [[nodiscard]] bool reads_inside(const Instruction& control) const {
    if (control.what != Opcode::loop && control.what != Opcode::branch) return false;
    bool reads = false;
    for (const RegionId region : {control.region(), control.other_region()})
      each(region, [&](const Instruction& i) {
        each_variable(i.inputs, [&](std::uint32_t) { reads = true; });
        reads = reads || reads_inside(i);
      });
    return reads;
  }

  /// Whether a turn begins at this instruction of the step, or the last turn ended before it. The variables have their
  /// new values then.
  [[nodiscard]] bool begins_turn(const Instruction& i) const {
    const auto at = static_cast<std::uint32_t>(&i - class_.instructions.data()) - class_.regions[1].instructions.first;
    const auto& turns = class_.serving.turns;
    return std::any_of(turns.begin(), turns.end(), [at](const Serving::Turns& t) {
      return at == t.give.first || at == t.take.first || at == t.take.first + t.take.count;
    });
  }

  /// Checks the reads in the regions of a loop or branch.
  void check_inside(const Instruction& control) const {
    for (const RegionId region : {control.region(), control.other_region()})
      each(region, [&](const Instruction& i) {
        each_variable(i.inputs, [&](std::uint32_t v) { check_read(i, v); });
        if (i.what == Opcode::loop || i.what == Opcode::branch) check_inside(i);
      });
  }

  void check_read(const Instruction& i, std::uint32_t variable) const {
    const Instruction* const writer = writer_[variable];
    if (writer != nullptr && writer->what == Opcode::copy && writer != &i)
      reject(describe(plan_, i) + " reads the variable " + name(variable) + " after " + describe(plan_, *writer) +
             " has set it for the next step");
  }

  [[noreturn]] void refuse(const Instruction& i, std::uint32_t variable, std::string_view how) const {
    reject(describe(plan_, i) + " writes the variable " + name(variable) + " " + std::string(how));
  }
  [[nodiscard]] std::string name(std::uint32_t variable) const {
    return formatted("'{}'", plan_.string(class_.buffers[variable].name));
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::vector<bool> variable_;              // of each buffer
  std::vector<const Instruction*> packed_;  // of each variable's buffer: an instruction of the setup that reads it
  std::vector<const Instruction*> writer_;  // of each variable's buffer: its writer in this step or turn so far
};

}  // namespace

void check_updates(const Plan& plan) {
  for (const PlanClass& plan_class : plan.classes) Updates(plan, plan_class).check();
}

}  // namespace ferry::verifier
