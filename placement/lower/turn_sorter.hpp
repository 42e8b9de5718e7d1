// TurnSorter: sorts the instructions of a task that serves workers into turns, two for each worker (placement/serving).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Collects the turn of each instruction while the step is lowered, then arranges them. Call assign_turn() for each
/// node of the step after its instructions are added. The constructor's arguments must outlive it.
class TurnSorter {
 public:
  TurnSorter(const ProgramServing& serving, const Program& program, const MessageNumbers& messages, ClassPlan& plan);

  void assign_turn(NodeId id);
  /// Puts the instructions of each turn together. The order is: instructions before all turns, the give turns of all
  /// workers, their take turns, and the rest. A worker's messages start in its give turn; the waits for them come first
  /// in its take turn. Variables are set at the end of a take turn. A buffer that two turns use is kept from step to
  /// step. No kernel leaves its turn, and the task uses one thread. Precondition: the waits for all messages are added.
  void arrange();

 private:
  [[nodiscard]] std::uint32_t workers() const { return static_cast<std::uint32_t>(serving_.workers.size()); }
  /// Turns have numbers in their final order: 0 is before all turns, then come gives, takes, and the rest.
  [[nodiscard]] std::uint32_t after() const { return 2 * workers() + 1; }
  [[nodiscard]] std::uint32_t place(std::uint32_t worker, bool take) const {
    return 1 + worker + (take ? workers() : 0);
  }
  [[nodiscard]] std::uint32_t turn_of(const Instruction& instruction, std::uint32_t of_node) const;
  void keep(const std::vector<Instruction>& step, const std::vector<std::uint32_t>& turns);

  const ProgramServing& serving_;
  const Program& program_;
  ClassPlan& plan_;
  std::unordered_map<std::uint32_t, std::uint32_t> worker_of_;  // for each channel
  std::vector<std::uint32_t> turns_;                            // for each instruction of the step so far
  std::uint32_t rest_ = 0;                                      // the turn of nodes that belong to no worker
};

}  // namespace ferry
