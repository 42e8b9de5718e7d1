// ClassPlan: the second of the two forms in planning. It has the instructions of the tasks of one class, region by
// region, and the facts that one pass leaves for later passes. `lower` makes it from the Program (program/program.hpp);
// after the last pass its `role` becomes the plan's PlanClass.
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

#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// Facts about kernels that passes need and that are not in the plan. An op is the number of the string with its name.
struct KernelFacts {
  std::unordered_set<std::uint32_t> elementwise;  ///< ops with kernels that can compute any run of elements by itself
  std::unordered_set<std::uint32_t> shifts;       ///< ops that return windows of input 0 (Kernel::shifting)
  std::unordered_set<std::uint32_t> heads;        ///< ops that finish their output piece by piece (Kernel::finishes)
  std::unordered_set<std::uint32_t> streams;      ///< ops that write their output from end to end (Kernel::streams)
  /// The work of a kernel, by its name (Instruction::name), if threads may share the work of its region.
  std::unordered_map<std::uint32_t, OpWork> work;
  /// For a kernel that works by rows (Kernel::row), the elements in a row of its first input, by its output buffer.
  std::unordered_map<std::uint32_t, std::int64_t> rows;
  std::int64_t fuse_from = 0;  ///< fewest elements of a value for which tiles pay (PlanOptions::fuse_from); 0: never
};

/// One assignment: a variable's buffer, the buffer of its new value, and the copy that is added if the value cannot be
/// computed in the variable's buffer.
struct VariableUpdate {
  BufferId variable = kNone, value = kNone;
  Instruction instruction;
};

/// Regions 0 (the setup) and 1 (the step) exist from the start. The tables must outlive it. Not thread-safe.
class ClassPlan {
 public:
  /// Buffers as an argument: {a, b} or a vector.
  struct Buffers {
    Buffers(std::initializer_list<BufferId> list) : items(list.begin(), list.size()) {}
    Buffers(const std::vector<BufferId>& list) : items(list) {}  // NOLINT
    std::span<const BufferId> items;
  };

  explicit ClassPlan(PlanTables& tables);

  /// The class. Its instructions are in list() until join() puts them here, region after region.
  PlanClass role;
  KernelFacts facts;
  std::vector<VariableUpdate> updates;  ///< for update_variables
  /// For pack_inputs: the instructions that pack a buffer of the setup or a variable, by that buffer.
  std::unordered_map<std::uint32_t, std::vector<Instruction>> packing;

  [[nodiscard]] PlanTables& tables() { return *tables_; }
  [[nodiscard]] const PlanTables& tables() const { return *tables_; }

  /// Reserves memory for these numbers of the step's instructions and of operands, so that the lists do not move when
  /// they grow.
  void reserve(std::size_t instructions, std::size_t operands);

  /// The region to which push() adds: the step, until enter() changes it.
  [[nodiscard]] RegionId region() const { return region_; }
  /// Sets the region to which push() adds, and returns the previous one.
  RegionId enter(RegionId region) { return std::exchange(region_, region); }
  [[nodiscard]] std::uint32_t regions() const { return static_cast<std::uint32_t>(lists_.size()); }
  [[nodiscard]] std::vector<Instruction>& list(RegionId region) { return lists_[region]; }
  [[nodiscard]] const std::vector<Instruction>& list(RegionId region) const { return lists_[region]; }
  std::uint32_t add(Region::Kind kind);
  /// Adds the two regions of a loop or branch.
  std::pair<std::uint32_t, std::uint32_t> add(Region::Kind first, Region::Kind second);

  /// Sets the instruction's operands, without adding it to a list.
  void add_operands(Instruction& instruction, const Buffers& in, const Buffers& out) {
    instruction.inputs = operands(in.items);
    instruction.outputs = operands(out.items);
  }
  void push(Instruction instruction, const Buffers& in, const Buffers& out);

  /// Whether any thread may run instructions of this region: true for the step if there are several threads and no
  /// queues.
  [[nodiscard]] bool may_spread(RegionId region) const {
    return region == 1 && role.threads > 1 && role.queues.empty();
  }

  /// Whether join() was called.
  [[nodiscard]] bool joined() const { return joined_; }
  /// A copy of the role with joined regions, for text and checks.
  [[nodiscard]] PlanClass snapshot() const;

  /// The plan as text: the class, numbered as the next class of the tables' plan, and the facts that passes leave for
  /// later passes. It has all facts that passes read; tests/plans parses it.
  [[nodiscard]] std::string str() const;

  /// Puts the lists one after another into the role: the setup, the step, then the others. No instruction may be added
  /// after it.
  void join();

 private:
  Range operands(std::span<const BufferId> buffers);

  PlanTables* tables_;
  std::vector<std::vector<Instruction>> lists_;
  RegionId region_ = 1;
  bool joined_ = false;
};

/// For each buffer, how often instructions of all regions have it as an operand, plus the number of its views.
[[nodiscard]] std::vector<std::uint32_t> count_touches(const ClassPlan& plan);

/// Checks the invariants after every pass: operands, regions, views, devices and threads exist, no buffer is a view of
/// a view, and nothing is movable where only thread 0 runs. Throws Error(bug), which names the first buffer or
/// instruction that breaks one.
void check_class(const ClassPlan& plan);

}  // namespace ferry
