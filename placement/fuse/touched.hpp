// Touched: the storages that instructions read and write. Fusing passes decide by it which instructions may change
// places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// The most instructions between two instructions that are joined.
inline constexpr std::size_t kFuseReach = 64;

/// A set of storages.
using Storages = std::vector<BufferId>;

[[nodiscard]] inline bool has(const Storages& some, BufferId one) {
  return std::find(some.begin(), some.end(), one) != some.end();
}
[[nodiscard]] inline bool meet(const Storages& a, const Storages& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t s) { return has(b, s); });
}
inline void add(Storages& to, BufferId one) {
  if (!has(to, one)) to.push_back(one);
}
inline void add(Storages& to, const Storages& more) {
  for (std::uint32_t s : more) add(to, s);
}

/// The storages that some instructions touch.
struct Touched {
  Storages reads, writes;

  void touch(const PlanClass& plan, const Instruction& instruction) {
    const auto storages = [&](Range range, Storages& to) {
      for (const std::uint32_t b : plan.operands_of(range)) add(to, storage_of(plan, b));
    };
    storages(instruction.inputs, reads);
    storages(instruction.outputs, writes);
    if (instruction.scratch != kNone) add(writes, instruction.scratch);
  }
  void touch(const Touched& other) {
    add(reads, other.reads);
    add(writes, other.writes);
  }
  /// Whether the order of the two matters.
  [[nodiscard]] bool conflicts(const Touched& other) const {
    return meet(writes, other.reads) || meet(writes, other.writes) || meet(reads, other.writes);
  }
};

}  // namespace ferry
