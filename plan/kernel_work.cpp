#include "plan/kernel_work.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "graph/op/op_work.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry {

OpWork kernel_work(const OpDef& def, const Plan& plan, const PlanClass& role, const Instruction& kernel) {
  static const Attrs kNoAttrs;
  OpParts parts;
  std::vector<Type> inputs, outputs;
  const auto add = [&](std::uint32_t operand, std::vector<Type>& wholes, std::vector<Type>& local) {
    const Buffer& buffer = role.buffers[operand];
    wholes.push_back(whole_type(plan, buffer));
    local.push_back(type_of(buffer.dtype, buffer.sizes.vector(), buffer.bounded));
  };
  const int taken = def.input_count();
  for (const BufferId operand : role.inputs(kernel))
    if (taken < 0 || static_cast<int>(inputs.size()) < taken) add(operand, inputs, parts.inputs);
  for (const BufferId operand : role.outputs(kernel)) add(operand, outputs, parts.outputs);
  const PlanKernelFacts facts(std::move(inputs), kernel.attrs == kNone ? kNoAttrs : plan.attrs[kernel.attrs]);
  try {
    return work_of_parts(def, facts, outputs, parts);
  } catch (const Error&) {
    OpWork work{0, bytes_of_outputs(parts.outputs) + bytes_of_outputs(parts.inputs), kind_of_work(def)};
    for (const Type& output : parts.outputs) work.flops += def.flops * known_count(output.shape);
    return work;
  }
}

}  // namespace ferry
