#include "runner/report/planned_times.hpp"

#include <set>
#include <vector>

#include "base/planned_time.hpp"
#include "graph/op/op_time.hpp"
#include "ops/control/comm.hpp"
#include "plan/kernel_work.hpp"

namespace ferry {
namespace {

/// Whether a trace names the instruction by its op, not by its opcode.
bool is_by_op(const Instruction& instruction) {
  return instruction.what == Opcode::kernel || instruction.what == Opcode::tiles;
}

bool is_stencil(const Instruction& instruction) {
  return instruction.what == Opcode::stencil_begin || instruction.what == Opcode::stencil;
}

class TimeEstimator {
 public:
  TimeEstimator(const Plan& plan, const PlanClass& role, const OpSet& ops) : plan_(plan), role_(role), ops_(ops) {}

  [[nodiscard]] std::int64_t picoseconds(const Instruction& instruction) const {
    if (crosses_devices(instruction)) return copying(plan_.topology.host_gpu, instruction);
    const ComputeCosts& costs =
        costs_of(role_.on_queue(instruction) ? DeviceKind::gpu : DeviceKind::cpu, plan_.topology.compute);
    return add_times(rounded_time(costs.call), slower_picoseconds(costs, arithmetic(costs, instruction),
                                                                  traffic_picoseconds(costs, traffic(instruction)),
                                                                  static_cast<int>(role_.threads)));
  }

 private:
  [[nodiscard]] bool crosses_devices(const Instruction& instruction) const {
    return instruction.what == Opcode::copy &&
           operand(instruction.inputs).device != operand(instruction.outputs).device;
  }
  [[nodiscard]] const Buffer& operand(Range operands) const { return role_.buffers[role_.operands[operands[0]]]; }
  [[nodiscard]] std::int64_t copying(const LinkCost& link, const Instruction& copy) const {
    const auto moved = static_cast<double>(operand(copy.inputs).bytes);
    return rounded_time((link.latency_seconds + moved / link.bytes_per_second) * 1e12);
  }

  /// Fused kernels read and write in memory only the operands of the whole region.
  [[nodiscard]] double traffic(const Instruction& instruction) const {
    return instruction.what == Opcode::kernel ? of_kernel(instruction).bytes : bytes(instruction);
  }

  [[nodiscard]] double arithmetic(const ComputeCosts& costs, const Instruction& instruction) const {
    if (instruction.what == Opcode::kernel) return arithmetic_picoseconds(costs, of_kernel(instruction));
    double sum = 0;
    if (instruction.what != Opcode::copy)
      for (const std::uint32_t i : role_.regions[instruction.region()].instructions)
        sum += arithmetic_picoseconds(costs, of_kernel(role_.instructions[i]));
    return sum;
  }

  /// The definition of the op with that name, from placement or from the graph's ops; null if neither has it.
  [[nodiscard]] const OpDef* definition_of(std::string_view name) const {
    for (const OpDef* const def : kCommOps)
      if (def->name == name) return def;
    return ops_.find(name);
  }

  [[nodiscard]] OpWork of_kernel(const Instruction& kernel) const {
    const OpDef* const def = definition_of(plan_.string(kernel.op));
    return def != nullptr ? kernel_work(*def, plan_, role_, kernel) : OpWork{0, bytes(kernel)};
  }

  [[nodiscard]] double bytes(const Instruction& instruction) const {
    double sum = 0;
    for (const Range range : {instruction.inputs, instruction.outputs})
      for (const std::uint32_t i : range) {
        const Buffer& buffer = role_.buffers[role_.operands[i]];
        if (buffer.space != Buffer::Space::none) sum += static_cast<double>(buffer.bytes);
      }
    return sum;
  }

  const Plan& plan_;
  const PlanClass& role_;
  const OpSet& ops_;
};

/// Calls f(region, instruction, picoseconds) for each kernel, tile region, stencil and copy of the task.
template <class F>
void for_each_timed(const Plan& plan, int task, const OpSet& ops, const F& f) {
  const PlanClass& role = plan.class_for(task);
  const TimeEstimator estimator(plan, role, ops);
  std::set<std::uint32_t> begun;
  for (const Region& region : role.regions) {
    if (region.kind == Region::Kind::tile) continue;
    for (const std::uint32_t i : region.instructions) {
      const Instruction& instruction = role.instructions[i];
      if (!is_by_op(instruction) && instruction.what != Opcode::copy && !is_stencil(instruction)) continue;
      if (instruction.swaps()) continue;
      if (instruction.what == Opcode::stencil && !begun.insert(instruction.region()).second)
        continue;  // only the edges, after its stencil_begin
      if (instruction.what == Opcode::stencil_begin) begun.insert(instruction.region());
      f(region, instruction, estimator.picoseconds(instruction));
    }
  }
}

}  // namespace

std::map<std::string, double> planned_times(const Plan& plan, int task, const OpSet& ops) {
  std::map<std::string, double> times;
  for_each_timed(plan, task, ops, [&](const Region&, const Instruction& instruction, std::int64_t picoseconds) {
    const std::string what(is_by_op(instruction) ? plan.string(instruction.op) : name_of(instruction.what));
    times[what + " " + std::string(plan.string(instruction.name))] = static_cast<double>(picoseconds) * 1e-12;
  });
  return times;
}

double planned_step_seconds(const Plan& plan, int task, const OpSet& ops) {
  std::int64_t sum = 0;
  for_each_timed(plan, task, ops, [&](const Region& region, const Instruction&, std::int64_t picoseconds) {
    if (region.kind != Region::Kind::setup) sum = add_times(sum, picoseconds);
  });
  return static_cast<double>(sum) * 1e-12;
}

}  // namespace ferry
