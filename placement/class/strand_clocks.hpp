// StrandClocks: what is known to have happened before an instruction, on the strands of a task.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// Counts, for each strand of a class, the instructions of the step that have run when a given one begins. The strand's
/// own come in their order; those of others are known through waits, and what those strands knew then. A queue is given
/// its instructions by thread 0, and so knows what that knows by then.
///
/// Built while the waits are made, in the order of the list; looked up for any instruction so far.
class StrandClocks {
 public:
  /// Strands from `first_queue` on are queues.
  StrandClocks(std::uint32_t strands, std::uint32_t first_queue);
  /// The clocks of a finished step.
  explicit StrandClocks(const PlanClass& plan);

  /// Appends the next instruction, of this strand and with these waits.
  void add(std::uint32_t strand, std::span<const Wait> waits);
  /// Of the waits that an instruction of `strand` needs, those that nothing else implies, one for each strand; sorted.
  [[nodiscard]] std::vector<Wait> needed(std::uint32_t strand, std::vector<Wait> waits) const;

  /// The number of instructions of its strand up to and with the i-th of the step.
  [[nodiscard]] std::uint32_t count(std::uint32_t i) const { return counts_[i]; }
  [[nodiscard]] std::uint32_t strand(std::uint32_t i) const { return strands_of_[i]; }
  /// Instructions of the strand so far.
  [[nodiscard]] std::uint32_t done(std::uint32_t strand) const { return done_[strand]; }
  /// How many of `other`'s instructions are done when the instruction `count` of `strand` begins.
  [[nodiscard]] std::uint32_t known(std::uint32_t strand, std::uint32_t count, std::uint32_t other) const;

 private:
  /// What a strand knows of the others from an instruction on; its own entry is not used.
  struct Change {
    std::uint32_t count;
    std::uint32_t first;  ///< into known_
  };
  [[nodiscard]] std::span<const std::uint32_t> latest(std::uint32_t strand) const {
    return {known_.data() + changes_[strand].back().first, strands_};
  }
  /// What the next instruction of the strand knows without waiting.
  [[nodiscard]] std::vector<std::uint32_t> next(std::uint32_t strand) const;
  [[nodiscard]] const std::uint32_t* before(std::uint32_t strand, std::uint32_t count) const;

  std::uint32_t strands_, first_queue_;
  std::vector<std::vector<Change>> changes_;  // of each strand, by count
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> done_;    // instructions of each strand so far
  std::vector<std::uint32_t> counts_;  // of each instruction
  std::vector<std::uint16_t> strands_of_;
};

}  // namespace ferry
