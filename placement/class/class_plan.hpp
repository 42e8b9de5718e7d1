// ClassPlan: the second of planning's two forms. What the tasks of one role do, region by region, and what the passes
// over it tell each other. `lower` makes it from the Program (program/program.hpp); what is left after the last pass is
// the plan's PlanClass.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "placement/plan/plan.hpp"
#include "placement/plan/plan_tables.hpp"

namespace ferry {

/// What passes know of kernels beyond what the plan says of them; ops by the string of their names.
struct KernelFacts {
  std::unordered_set<std::uint32_t> elementwise;   ///< compute any run of elements alone
  std::unordered_set<std::uint32_t> heads;         ///< finish their output piece by piece
  std::unordered_set<std::uint32_t> streams;       ///< write their output from end to end
  std::unordered_map<std::uint32_t, double> work;  ///< nanoseconds for each output element
  /// Of output buffers of kernels that work by rows (Kernel::row): elements of a row of their first input.
  std::unordered_map<std::uint32_t, std::int64_t> rows;
  std::int64_t fuse_from = 0;  ///< elements of a value from which tiles pay (PlanOptions::fuse_from); 0: never
};

/// One assignment: a variable's buffer, the buffer of its new value, the copy that would set it.
struct VariableUpdate {
  std::uint32_t variable = kNone, value = kNone;
  Instruction instruction;
};

/// Region 0 (the setup) and 1 (the step) are there from the start. The tables must outlive it. Not thread-safe.
class ClassPlan {
 public:
  /// Buffers as an argument: {a, b} or a vector.
  struct Buffers {
    Buffers(std::initializer_list<std::uint32_t> list) : items(list.begin(), list.size()) {}
    Buffers(const std::vector<std::uint32_t>& list) : items(list) {}  // NOLINT
    std::span<const std::uint32_t> items;
  };

  explicit ClassPlan(PlanTables& tables);

  /// Its instructions stand in list() until join() has put them here, region after region.
  PlanClass role;
  KernelFacts facts;
  std::vector<VariableUpdate> updates;  ///< what update_variables is to do
  /// What pack_inputs is to do: instructions that pack a buffer of the setup, by that buffer.
  std::unordered_map<std::uint32_t, std::vector<Instruction>> packing;

  [[nodiscard]] PlanTables& tables() { return *tables_; }
  [[nodiscard]] const PlanTables& tables() const { return *tables_; }

  /// Room for that many instructions of the step and their operands, so that nothing is moved while the lists grow.
  void reserve(std::size_t instructions, std::size_t operands);

  /// The region that push() adds to: the step, until enter() says otherwise.
  [[nodiscard]] std::uint32_t region() const { return region_; }
  /// Gives the one before.
  std::uint32_t enter(std::uint32_t region) { return std::exchange(region_, region); }
  [[nodiscard]] std::uint32_t regions() const { return static_cast<std::uint32_t>(lists_.size()); }
  [[nodiscard]] std::vector<Instruction>& list(std::uint32_t region) { return lists_[region]; }
  [[nodiscard]] const std::vector<Instruction>& list(std::uint32_t region) const { return lists_[region]; }
  std::uint32_t add(Region::Kind kind);
  /// Two new regions, of a loop or a branch.
  std::pair<std::uint32_t, std::uint32_t> add(Region::Kind first, Region::Kind second);

  /// Gives the instruction its operands, without putting it anywhere.
  void add_operands(Instruction& instruction, const Buffers& in, const Buffers& out) {
    instruction.inputs = operands(in.items);
    instruction.outputs = operands(out.items);
  }
  void push(Instruction instruction, const Buffers& in, const Buffers& out);

  /// Instructions of this region may be given to any thread: of the step, where there are several.
  [[nodiscard]] bool spreads(std::uint32_t region) const {
    return region == 1 && role.threads > 1 && role.queues.empty();
  }

  /// The lists are in `role`.
  [[nodiscard]] bool joined() const { return joined_; }
  /// The role with its regions one after another, whether they are joined yet or not: for text and checks.
  [[nodiscard]] PlanClass snapshot() const;

  /// Puts the lists one after another into the role: the setup, the step, then the others. No instruction may be added
  /// after it.
  void join();

 private:
  Range operands(std::span<const std::uint32_t> buffers);

  PlanTables* tables_;
  std::vector<std::vector<Instruction>> lists_;
  std::uint32_t region_ = 1;
  bool joined_ = false;
};

/// Of each buffer how often instructions of all regions name it; a buffer is touched by each view of it, too.
[[nodiscard]] std::vector<std::uint32_t> count_touches(const ClassPlan& plan);

/// What holds of the form after every pass: operands, regions and views lead to what is there, no view is one of a
/// view, and nothing is movable where there is no thread to move it to. Error(bug) names the first instruction that
/// breaks it.
void check_class(const ClassPlan& plan);

}  // namespace ferry
