#include "runner/report/planned_times.hpp"

#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "graph/op/index_notation.hpp"
#include "graph/op/op_time.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry {
namespace {

std::vector<Type> types_of(const PlanClass& role, Range range) {
  std::vector<Type> types;
  for (const std::uint32_t i : range) {
    const Buffer& buffer = role.buffers[role.operands[i]];
    types.push_back(type_of(buffer.dtype, buffer.sizes.vector(), false));
  }
  return types;
}

bool is_stencil(const Instruction& instruction) {
  return instruction.what == Opcode::stencil_begin || instruction.what == Opcode::stencil;
}

class Reckoning {
 public:
  Reckoning(const Plan& plan, const PlanClass& role, const OpSet& ops) : plan_(plan), role_(role), ops_(ops) {}

  [[nodiscard]] std::int64_t picoseconds(const Instruction& instruction) const {
    if (crosses_devices(instruction)) return copying(plan_.topology.host_gpu, instruction);
    const DeviceKind kind = role_.on_queue(instruction) ? DeviceKind::gpu : DeviceKind::cpu;
    if (instruction.what != Opcode::tiles && !is_stencil(instruction))
      return kernel_picoseconds(kind, bytes(instruction), flops(instruction));
    const Range kernels = role_.regions[instruction.target].instructions;
    double work = 0;
    for (const std::uint32_t i : kernels) work += flops(role_.instructions[i]).value_or(0);
    return kernel_picoseconds(kind, bytes(instruction), work);
  }

 private:
  [[nodiscard]] bool crosses_devices(const Instruction& instruction) const {
    return instruction.what == Opcode::copy &&
           operand(instruction.inputs).device != operand(instruction.outputs).device;
  }
  [[nodiscard]] const Buffer& operand(Range operands) const { return role_.buffers[role_.operands[operands[0]]]; }
  [[nodiscard]] std::int64_t copying(const LinkCost& link, const Instruction& copy) const {
    const auto moved = static_cast<double>(operand(copy.inputs).bytes);
    return std::llround((link.latency_seconds + moved / link.bytes_per_second) * 1e12);
  }

  [[nodiscard]] std::int64_t bytes(const Instruction& instruction) const {
    std::uint64_t sum = 0;
    for (const Range range : {instruction.inputs, instruction.outputs})
      for (const std::uint32_t i : range) {
        const Buffer& buffer = role_.buffers[role_.operands[i]];
        if (buffer.space != Buffer::Space::none) sum += buffer.bytes;
      }
    return static_cast<std::int64_t>(sum);
  }

  [[nodiscard]] std::optional<double> flops(const Instruction& instruction) const {
    if (instruction.what == Opcode::copy) return 0;
    const OpDef* const def = ops_.find(plan_.string(instruction.op));
    if (def == nullptr) return std::nullopt;
    static const Attrs kNoAttrs;
    const PlanKernelFacts facts(types_of(role_, instruction.inputs),
                                instruction.attrs == kNone ? kNoAttrs : plan_.attrs[instruction.attrs]);
    try {
      const auto space = index_space(*def, facts, types_of(role_, instruction.outputs));
      return space ? std::optional(def->flops * space->points()) : std::nullopt;
    } catch (const Error&) {  // packed or fused kernels have other inputs than the op
      return std::nullopt;
    }
  }

  const Plan& plan_;
  const PlanClass& role_;
  const OpSet& ops_;
};

}  // namespace

std::map<std::string, double> planned_times(const Plan& plan, int task, const OpSet& ops) {
  const PlanClass& role = plan.class_for(task);
  const Reckoning reckoning(plan, role, ops);
  std::map<std::string, double> times;
  std::set<std::uint32_t> begun;
  for (const Region& region : role.regions) {
    if (region.kind == Region::Kind::tile) continue;
    for (const std::uint32_t i : region.instructions) {
      const Instruction& instruction = role.instructions[i];
      const bool by_op = instruction.what == Opcode::kernel || instruction.what == Opcode::tiles;
      if (!by_op && instruction.what != Opcode::copy && !is_stencil(instruction)) continue;
      if (instruction.what == Opcode::stencil && !begun.insert(instruction.target).second) continue;  // the edges alone
      if (instruction.what == Opcode::stencil_begin) begun.insert(instruction.target);
      const std::string name = std::string(by_op ? plan.string(instruction.op) : name_of(instruction.what)) + " " +
                               std::string(plan.string(instruction.name));
      times[name] = static_cast<double>(reckoning.picoseconds(instruction)) * 1e-12;
    }
  }
  return times;
}

}  // namespace ferry
