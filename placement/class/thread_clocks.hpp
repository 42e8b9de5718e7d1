// ThreadClocks: what is known to have happened before an instruction, on the threads of a task.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// Counts, for each thread of a class, the instructions of the step that have run when a given one begins. The thread's
/// own come in their order; those of others are known through waits, and what those threads knew then.
///
/// Built while the waits are made, in the order of the list; looked up for any instruction so far.
class ThreadClocks {
 public:
  explicit ThreadClocks(std::uint32_t threads);
  /// The clocks of a finished step.
  explicit ThreadClocks(const PlanClass& plan);

  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  /// Appends the next instruction, of this thread and with these waits.
  void add(std::uint32_t thread, std::span<const Wait> waits);
  /// Of the waits that an instruction of `thread` needs, those that nothing else implies, one for each thread; sorted.
  [[nodiscard]] std::vector<Wait> needed(std::uint32_t thread, std::vector<Wait> waits) const;

  /// The number of instructions of its thread up to and with the i-th of the step.
  [[nodiscard]] std::uint32_t count(std::uint32_t i) const { return counts_[i]; }
  [[nodiscard]] std::uint32_t thread(std::uint32_t i) const { return threads_of_[i]; }
  /// How many of `other`'s instructions are done when the instruction `count` of `thread` begins.
  [[nodiscard]] std::uint32_t known(std::uint32_t thread, std::uint32_t count, std::uint32_t other) const;

 private:
  /// What a thread knows of the others from an instruction on; its own entry is not used.
  struct Change {
    std::uint32_t count;
    std::uint32_t first;  ///< into known_
  };
  [[nodiscard]] const std::uint32_t* before(std::uint32_t thread, std::uint32_t count) const;

  std::uint32_t threads_;
  std::vector<std::vector<Change>> changes_;  // of each thread, by count
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> done_;    // instructions of each thread so far
  std::vector<std::uint32_t> counts_;  // of each instruction
  std::vector<std::uint16_t> threads_of_;
};

}  // namespace ferry
