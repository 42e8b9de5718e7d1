// RegionLists: the regions of a plan class while they grow, each with its list of instructions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// Adds instructions to the regions of `plan`, which must outlive it. Region 0 (the setup) and 1 (the step) are there
/// from the start; instructions go to region 1 until enter() says otherwise.
class RegionLists {
 public:
  /// Buffers as an argument: {a, b} or a vector.
  struct Buffers {
    Buffers(std::initializer_list<std::uint32_t> list) : items(list.begin(), list.size()) {}
    Buffers(const std::vector<std::uint32_t>& list) : items(list) {}  // NOLINT
    std::span<const std::uint32_t> items;
  };

  explicit RegionLists(PlanClass& plan);

  /// Room for that many instructions of the step and their operands, so that nothing is moved while the lists grow.
  void reserve(std::size_t instructions, std::size_t operands);

  [[nodiscard]] std::uint32_t region() const { return region_; }
  /// Instructions go to that region from now on; gives the one before.
  std::uint32_t enter(std::uint32_t region) { return std::exchange(region_, region); }
  [[nodiscard]] std::size_t regions() const { return lists_.size(); }
  [[nodiscard]] std::vector<Instruction>& list(std::uint32_t region) { return lists_[region]; }
  std::uint32_t add(Region::Kind kind);
  /// Two new regions, of a loop or a branch.
  std::pair<std::uint32_t, std::uint32_t> add(Region::Kind first, Region::Kind second);

  /// Gives the instruction its operands, without putting it anywhere.
  void add_operands(Instruction& instruction, const Buffers& in, const Buffers& out) {
    instruction.inputs = operands(in.items);
    instruction.outputs = operands(out.items);
  }
  void push(Instruction instruction, const Buffers& in, const Buffers& out);
  [[nodiscard]] std::vector<Instruction>& step() { return lists_[1]; }

  /// Puts the lists one after another into the plan: the setup, the step, then the others. Nothing may be added after.
  void join();

 private:
  Range operands(std::span<const std::uint32_t> buffers);

  PlanClass& plan_;
  std::vector<std::vector<Instruction>> lists_;
  std::uint32_t region_ = 1;
};

}  // namespace ferry
