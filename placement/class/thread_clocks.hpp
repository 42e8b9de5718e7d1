// ThreadClocks: what is known to have happened on the threads of a task before an instruction (vector clocks).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// Counts, for each thread of a class, the instructions of the step that have certainly run when a given one begins: of
/// its own thread all before it, of other threads those that its waits prove, directly or by what the other thread had
/// waited for.
///
/// Instructions are added in the order of the list, while the waits are made; those added so far can be looked up.
class ThreadClocks {
 public:
  explicit ThreadClocks(std::uint32_t threads);
  /// The clocks of a step that has its waits.
  explicit ThreadClocks(const PlanClass& plan);

  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  /// Appends the next instruction, of this thread and with these waits.
  void add(std::uint32_t thread, std::span<const Wait> waits);
  /// Of the waits that the next instruction of `thread` needs, those that nothing else implies: at most one for each
  /// other thread, sorted by thread.
  [[nodiscard]] std::vector<Wait> needed(std::uint32_t thread, std::vector<Wait> waits) const;

  /// How many instructions its thread has up to the i-th of the step, this one included.
  [[nodiscard]] std::uint32_t count(std::uint32_t i) const { return counts_[i]; }
  [[nodiscard]] std::uint32_t thread(std::uint32_t i) const { return threads_of_[i]; }
  /// How many of `other`'s instructions are done when the instruction `count` of `thread` begins.
  [[nodiscard]] std::uint32_t known(std::uint32_t thread, std::uint32_t count, std::uint32_t other) const;

 private:
  /// What a thread knows of the others from its instruction number `count` on; the entry for itself is not used.
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
