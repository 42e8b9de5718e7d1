#include "placement/class/region_lists.hpp"

namespace ferry {

RegionLists::RegionLists(PlanClass& plan) : plan_(plan) {
  (void)add(Region::Kind::setup, Region::Kind::step);
}

void RegionLists::reserve(std::size_t instructions, std::size_t operands) {
  lists_[1].reserve(instructions);
  plan_.operands.reserve(operands);
}

std::uint32_t RegionLists::add(Region::Kind kind) {
  plan_.regions.push_back({kind, {}});
  lists_.emplace_back();
  return static_cast<std::uint32_t>(lists_.size() - 1);
}

std::pair<std::uint32_t, std::uint32_t> RegionLists::add(Region::Kind first, Region::Kind second) {
  const std::uint32_t at = add(first);
  return {at, add(second)};
}

void RegionLists::push(Instruction instruction, const Buffers& in, const Buffers& out) {
  add_operands(instruction, in, out);
  lists_[region_].push_back(instruction);
}

// The step's list is by far the longest: the others join it.
void RegionLists::join() {
  std::vector<Instruction>& all = lists_[1];
  const auto setup = static_cast<std::uint32_t>(lists_[0].size());
  plan_.regions[0].instructions = {0, setup};
  plan_.regions[1].instructions = {setup, static_cast<std::uint32_t>(all.size())};
  all.insert(all.begin(), lists_[0].begin(), lists_[0].end());
  for (std::size_t r = 2; r < lists_.size(); ++r) {
    plan_.regions[r].instructions = {static_cast<std::uint32_t>(all.size()),
                                     static_cast<std::uint32_t>(lists_[r].size())};
    all.insert(all.end(), lists_[r].begin(), lists_[r].end());
  }
  plan_.instructions = std::move(all);
}

Range RegionLists::operands(std::span<const std::uint32_t> buffers) {
  const auto begin = static_cast<std::uint32_t>(plan_.operands.size());
  plan_.operands.insert(plan_.operands.end(), buffers.begin(), buffers.end());
  return {begin, static_cast<std::uint32_t>(buffers.size())};
}

}  // namespace ferry
