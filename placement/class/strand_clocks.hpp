// StrandClocks: vector clocks of the strands of a task. They record which instructions have run before an instruction
// begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// The clock of an instruction of the step has for each strand the number of the strand's instructions that have
/// certainly run when the instruction begins. On its own strand these are all earlier instructions. On other strands
/// the number follows from the instruction's waits and from the clocks of the strands waited for. For an instruction on
/// a queue, it also follows from the clock of thread 0 when that thread gives the instruction to the queue.
///
/// Instructions are added in the order of the list, while waits are made. The clock of any instruction added so far is
/// available.
class StrandClocks {
 public:
  /// Strands from `first_queue` on are queues.
  StrandClocks(std::uint32_t strands, std::uint32_t first_queue);
  /// The clocks of a finished step.
  explicit StrandClocks(const PlanClass& plan);

  /// Appends the next instruction, of this strand and with these waits.
  void add(StrandId strand, std::span<const Wait> waits);
  /// Returns the waits, out of those that the next instruction of `strand` needs, that nothing else implies: at most
  /// one for each other strand, sorted by strand.
  [[nodiscard]] std::vector<Wait> needed(StrandId strand, std::vector<Wait> waits) const;

  /// The number of the step's i-th instruction on its strand, counted from 1.
  [[nodiscard]] std::uint32_t count(std::uint32_t i) const { return counts_[i]; }
  [[nodiscard]] StrandId strand(std::uint32_t i) const { return strands_of_[i]; }
  /// The number of instructions of the strand so far.
  [[nodiscard]] std::uint32_t done(StrandId strand) const { return done_[strand]; }
  /// The number of `other`'s instructions that are done when the instruction `count` of `strand` begins.
  [[nodiscard]] std::uint32_t known(StrandId strand, std::uint32_t count, std::uint32_t other) const;

 private:
  /// The clock of a strand from its instruction `count` on, up to its next change. The entry for the strand itself is
  /// not used.
  struct Change {
    std::uint32_t count;
    std::uint32_t first;  ///< index in known_ of the first of strands_ numbers
  };
  [[nodiscard]] std::span<const std::uint32_t> latest(StrandId strand) const {
    return {known_.data() + changes_[strand].back().first, strands_};
  }
  /// The clock of the strand's next instruction, without its waits.
  [[nodiscard]] std::vector<std::uint32_t> clock_of_next(StrandId strand) const;
  [[nodiscard]] const std::uint32_t* before(StrandId strand, std::uint32_t count) const;

  std::uint32_t strands_, first_queue_;
  std::vector<std::vector<Change>> changes_;  // by strand, in the order of `count`
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> done_;    // by strand: the number of its instructions so far
  std::vector<std::uint32_t> counts_;  // by instruction of the step
  std::vector<std::uint16_t> strands_of_;
};

}  // namespace ferry
