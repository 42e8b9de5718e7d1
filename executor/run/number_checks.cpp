#include "executor/run/number_checks.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace ferry {

NotFinite not_finite(const Array& array) {
  if (array.data == nullptr) return {};
  return not_finite(array.dtype, {array.data, static_cast<std::size_t>(array.count()) * size_of(array.dtype)});
}

NonFiniteInputs NumberChecks::check_inputs(const Resolved& r) {
  NonFiniteInputs given;
  for (const Extent& extent : r.extents)
    if (!extent.output) *extent.size = resolved_.extent_of(extent, r);
  if (r.what == Opcode::kernel)
    for (const Array& input : r.run->inputs) given.add(not_finite(input));
  if (r.what == Opcode::collective)
    of_collectives_[r.link].add(not_finite(dtype_of_collective(r), first_of(r.plan->inputs, r.input)));
  if (r.what == Opcode::collective_wait) given = std::exchange(of_collectives_[r.link], {});
  // An infinity that is fed, or that an op without inputs computes, is intended.
  given.infinite = given.infinite || r.what == Opcode::feed || (r.what == Opcode::kernel && r.run->inputs.empty());
  return given;
}

void NumberChecks::check_result(const Resolved& r, const NonFiniteInputs& given) const {
  if (r.what == Opcode::kernel)
    for (const Array& output : r.run->outputs) require_finite(given, not_finite(output));
  if (r.what == Opcode::collective_wait)
    require_finite(given, not_finite(dtype_of_collective(r), first_of(r.plan->outputs, r.output)));
  if (r.what == Opcode::feed) require_finite(given, not_finite(resolved_.plan().feeds[r.plan->feed()].dtype, fed(r)));
}

/// The bytes of the elements that a feed has written.
std::span<const std::byte> NumberChecks::fed(const Resolved& r) {
  if (r.extents.empty()) return {r.output, r.bytes};
  const Extent& extent = r.extents[0];
  const std::size_t row = extent.bound == 0 ? 0 : (r.bytes - kExtentBytes) / static_cast<std::size_t>(extent.bound);
  return {r.output + kExtentBytes, row * static_cast<std::size_t>(*extent.header)};
}

void NumberChecks::require_finite(const NonFiniteInputs& given, const NotFinite& result) const {
  if (const std::string made = fault_text(given, result); !made.empty())
    throw Error(Code::numeric, made + ", in step " + std::to_string(step_) + " (counted from 0)");
}

std::span<const std::byte> NumberChecks::first_of(Range range, const std::byte* data) const {
  if (range.count == 0 || data == nullptr) return {};
  const PlanClass& role = resolved_.plan().class_for(resolved_.task());
  return {data, role.buffers[role.operands[range[0]]].bytes};
}

DType NumberChecks::dtype_of_collective(const Resolved& r) const {
  return resolved_.plan().collectives[r.plan->collective()].dtype;
}

}  // namespace ferry
