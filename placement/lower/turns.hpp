// Turns: puts the instructions of a task that serves others into its turns (placement/serving).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Is told of each node of the step once its instructions are there. The arguments must outlive it.
class Turns {
 public:
  Turns(const ProgramServing& serving, const Program& program, const MessageNumbers& messages, ClassPlan& plan);

  void added(NodeId id);
  /// Puts the instructions of each turn together: first what comes before all turns, then all gives, all takes, and the
  /// rest. Messages start in a worker's give and are waited for in its take, first of all; variables are set at its
  /// end. What lasts from one turn to another is kept from step to step; no kernel leaves its turn, and one thread does
  /// all. Precondition: all messages are waited for.
  void arrange();

 private:
  [[nodiscard]] std::uint32_t workers() const { return static_cast<std::uint32_t>(serving_.workers.size()); }
  /// Turns are numbered as they are arranged: 0 before, gives, takes, after.
  [[nodiscard]] std::uint32_t after() const { return 2 * workers() + 1; }
  [[nodiscard]] std::uint32_t place(std::uint32_t worker, bool take) const {
    return 1 + worker + (take ? workers() : 0);
  }
  [[nodiscard]] std::uint32_t turn_of(const Instruction& instruction, std::uint32_t of_node) const;
  void keep(const std::vector<Instruction>& step, const std::vector<std::uint32_t>& turns);

  const ProgramServing& serving_;
  const Program& program_;
  ClassPlan& plan_;
  std::unordered_map<std::uint32_t, std::uint32_t> worker_of_;  // of each channel
  std::vector<std::uint32_t> turns_;                            // of each instruction of the step so far
  std::uint32_t rest_ = 0;                                      // of nodes that are of no turn
};

}  // namespace ferry
