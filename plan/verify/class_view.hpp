// ClassView: helpers to look up facts about a plan class, for the checks of kernels that run together.
#pragma once

#include <cstdint>
#include <string>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {

class ClassView {
 protected:
  ClassView(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  [[nodiscard]] std::string named(std::uint32_t b) const {
    return "buffer " + std::to_string(b) + " ('" + std::string(plan_.string(class_.buffers[b].name)) + "')";
  }
  [[nodiscard]] bool in_slot(std::uint32_t b) const { return class_.buffers[b].space == Buffer::Space::tile; }
  [[nodiscard]] std::uint64_t count(std::uint32_t b) const {
    return class_.buffers[b].bytes / size_of(class_.buffers[b].dtype);
  }
  [[nodiscard]] bool overlap(std::uint32_t a_id, std::uint32_t b_id) const {
    const Buffer &a = class_.buffers[a_id], &b = class_.buffers[b_id];
    return a.space != Buffer::Space::none && a.space == b.space && a.device == b.device &&
           a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t k) const { return class_.operands[range[k]]; }
  template <class F>
  void each(Range range, F f) const {
    for (std::uint32_t k = 0; k < range.count; ++k) f(operand(range, k));
  }
  template <class F>
  void each_instruction(RegionId region, F f) const {
    const Range range = class_.regions[region].instructions;
    for (const std::uint32_t k : range) f(class_.instructions[k]);
  }

  const Plan& plan_;
  const PlanClass& class_;
};

}  // namespace ferry::verifier
