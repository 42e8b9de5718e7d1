// StrandClocks: vector clocks of the strands of a task. They record which instructions have run before an instruction
// begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// For an instruction of the step and each strand: the number of the strand's instructions that have certainly run when
/// the instruction begins. On its own strand these are all earlier instructions. On other strands the number follows
/// from the instruction's waits and from the clocks of the strands waited for. A queue also knows what thread 0 knows
/// when it gives it the instruction.
///
/// It is built instruction by instruction, in the order of the list, while waits are made, and can be asked about any
/// instruction so far.
class StrandClocks {
 public:
  /// Strands from `first_queue` on are queues.
  StrandClocks(std::uint32_t strands, std::uint32_t first_queue);
  /// The clocks of a finished step.
  explicit StrandClocks(const PlanClass& plan);

  /// Appends the next instruction, of this strand and with these waits.
  void add(std::uint32_t strand, std::span<const Wait> waits);
  /// Reduces the waits that the next instruction of `strand` needs to those that nothing else implies: at most one for
  /// each other strand, sorted by strand.
  [[nodiscard]] std::vector<Wait> needed(std::uint32_t strand, std::vector<Wait> waits) const;

  /// The number of the step's i-th instruction on its strand, from 1.
  [[nodiscard]] std::uint32_t count(std::uint32_t i) const { return counts_[i]; }
  [[nodiscard]] std::uint32_t strand(std::uint32_t i) const { return strands_of_[i]; }
  /// The number of instructions of the strand so far.
  [[nodiscard]] std::uint32_t done(std::uint32_t strand) const { return done_[strand]; }
  /// How many of `other`'s instructions are done when the instruction `count` of `strand` begins.
  [[nodiscard]] std::uint32_t known(std::uint32_t strand, std::uint32_t count, std::uint32_t other) const;

 private:
  /// What a strand knows of the others from its instruction `count` on, up to its next change; the entry for the strand
  /// itself is not used.
  struct Change {
    std::uint32_t count;
    std::uint32_t first;  ///< index in known_ of the first of strands_ numbers
  };
  [[nodiscard]] std::span<const std::uint32_t> latest(std::uint32_t strand) const {
    return {known_.data() + changes_[strand].back().first, strands_};
  }
  /// What the next instruction of the strand knows without waiting.
  [[nodiscard]] std::vector<std::uint32_t> next(std::uint32_t strand) const;
  [[nodiscard]] const std::uint32_t* before(std::uint32_t strand, std::uint32_t count) const;

  std::uint32_t strands_, first_queue_;
  std::vector<std::vector<Change>> changes_;  // by strand, in the order of `count`
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> done_;    // by strand: the number of its instructions so far
  std::vector<std::uint32_t> counts_;  // by instruction of the step
  std::vector<std::uint16_t> strands_of_;
};

}  // namespace ferry
