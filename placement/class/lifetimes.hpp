// Lifetimes: for each buffer of a plan class, the first and last instruction that touches it.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// Positions number the instructions in the order of setup and step, including nested regions; the end of a region also
/// has a position.
struct Lifetime {
  std::uint32_t first = kNone, last = 0;  ///< positions of the first and last touch; first is kNone if there are none
  RegionId region = kNone;                ///< the innermost region that contains all touches
  bool in_setup = false, in_step = false;

  [[nodiscard]] bool touched() const { return first != kNone; }
};

/// The lifetimes of all storages (buffers that are not views), for the instructions in their order in `plan`, which
/// must outlive this. If a buffer is touched inside and outside of a nested region, each touch inside lasts for the
/// whole region, because it may be repeated. A buffer that a loop's body swaps lives as long as the loop. Takes linear
/// time. Immutable once made.
class Lifetimes {
 public:
  explicit Lifetimes(const PlanClass& plan);

  [[nodiscard]] const Lifetime& operator[](BufferId buffer) const { return all_[buffer]; }
  [[nodiscard]] std::uint32_t position(std::uint32_t instruction) const { return position_[instruction]; }
  /// Whether the storage keeps its value from step to step: it is a variable, or the setup makes it for the step.
  [[nodiscard]] bool kept(BufferId buffer) const {
    const Lifetime& life = all_[buffer];
    return plan_.buffers[buffer].space == Buffer::Space::state || (life.in_setup && life.in_step);
  }
  /// The number of strands, up to the last one that has instructions.
  [[nodiscard]] std::uint32_t strands() const { return strands_; }
  /// The position of the last touch by that strand; 0 when there is none.
  [[nodiscard]] std::uint32_t last_on(BufferId buffer, StrandId strand) const {
    return strands_ == 1 ? all_[buffer].last : last_on_[buffer * strands_ + strand];
  }
  /// The last position of an instruction, including the regions nested in it.
  [[nodiscard]] std::uint32_t end_of(std::uint32_t instruction) const;

 private:
  /// The place of a region in the tree of regions, and its positions.
  struct Span {
    std::uint32_t parent = kNone;
    std::uint32_t depth = 0;
    std::uint32_t begin = 0, end = 0;  ///< positions of its first instruction and of its end
  };

  void number(RegionId region, std::uint32_t parent, std::uint32_t depth);
  void touch_region(RegionId region, bool setup);
  [[nodiscard]] std::uint32_t common(std::uint32_t a, std::uint32_t b) const;
  void extend_region(RegionId region);
  std::uint32_t extend(Lifetime& life, RegionId region, std::uint32_t position);
  template <class F>
  void each_nested(const Instruction& instruction, F f);
  template <class F>
  void each_instruction(RegionId region, F f);
  template <class F>
  void each_swapped(const Instruction& loop, F f);
  template <class F>
  void each_operand(const Instruction& instruction, F f);

  const PlanClass& plan_;
  const std::uint32_t strands_;
  std::vector<Lifetime> all_;
  std::vector<std::uint32_t> last_on_;  // by buffer and strand; empty if there is one strand
  std::vector<Span> spans_;             // by region
  std::vector<std::uint32_t> position_;
  std::uint32_t next_ = 0;
};

}  // namespace ferry
