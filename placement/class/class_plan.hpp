// ClassPlan: the second of planning's two forms. What the tasks of one role do, region by region, and what one pass
// leaves for later ones. `lower` makes it from the Program (program/program.hpp); after the last pass its `role`
// becomes the plan's PlanClass.
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

/// What passes know of kernels beyond what the plan says. Ops are numbers of the strings with their names.
struct KernelFacts {
  std::unordered_set<std::uint32_t> elementwise;  ///< ops with kernels that can compute any run of elements by itself
  std::unordered_set<std::uint32_t> shifts;       ///< give windows of input 0 (Kernel::shifting)
  std::unordered_set<std::uint32_t> heads;        ///< finish their output piece by piece (Kernel::finishes)
  std::unordered_set<std::uint32_t> streams;      ///< write their output from end to end (Kernel::streams)
  /// By the name of a kernel (Instruction::name), if threads may share the work of its region.
  std::unordered_map<std::uint32_t, OpWork> work;
  /// By output buffer of a kernel that works by rows (Kernel::row): elements of a row of its first input.
  std::unordered_map<std::uint32_t, std::int64_t> rows;
  std::int64_t fuse_from = 0;  ///< elements of a value from which tiles pay (PlanOptions::fuse_from); 0: never
};

/// One assignment: a variable's buffer, the buffer of its new value, and the copy that is added if the value cannot be
/// made in the variable's buffer.
struct VariableUpdate {
  std::uint32_t variable = kNone, value = kNone;
  Instruction instruction;
};

/// Regions 0 (the setup) and 1 (the step) exist from the start. The tables must outlive it. Not thread-safe.
class ClassPlan {
 public:
  /// Buffers as an argument: {a, b} or a vector.
  struct Buffers {
    Buffers(std::initializer_list<std::uint32_t> list) : items(list.begin(), list.size()) {}
    Buffers(const std::vector<std::uint32_t>& list) : items(list) {}  // NOLINT
    std::span<const std::uint32_t> items;
  };

  explicit ClassPlan(PlanTables& tables);

  /// Its instructions are in list() until join() puts them here, region after region.
  PlanClass role;
  KernelFacts facts;
  std::vector<VariableUpdate> updates;  ///< for update_variables
  /// For pack_inputs: the instructions that pack a buffer of the setup, by that buffer.
  std::unordered_map<std::uint32_t, std::vector<Instruction>> packing;

  [[nodiscard]] PlanTables& tables() { return *tables_; }
  [[nodiscard]] const PlanTables& tables() const { return *tables_; }

  /// Reserves room for that many instructions of the step, and operands, so that the lists grow without moving.
  void reserve(std::size_t instructions, std::size_t operands);

  /// The region that push() adds to: the step, until enter() says otherwise.
  [[nodiscard]] std::uint32_t region() const { return region_; }
  /// Returns the region before.
  std::uint32_t enter(std::uint32_t region) { return std::exchange(region_, region); }
  [[nodiscard]] std::uint32_t regions() const { return static_cast<std::uint32_t>(lists_.size()); }
  [[nodiscard]] std::vector<Instruction>& list(std::uint32_t region) { return lists_[region]; }
  [[nodiscard]] const std::vector<Instruction>& list(std::uint32_t region) const { return lists_[region]; }
  std::uint32_t add(Region::Kind kind);
  /// Adds the two regions of a loop or branch.
  std::pair<std::uint32_t, std::uint32_t> add(Region::Kind first, Region::Kind second);

  /// Sets the instruction's operands, without adding it to a list.
  void add_operands(Instruction& instruction, const Buffers& in, const Buffers& out) {
    instruction.inputs = operands(in.items);
    instruction.outputs = operands(out.items);
  }
  void push(Instruction instruction, const Buffers& in, const Buffers& out);

  /// Instructions of this region may be given to any thread: of the step, where there are several.
  [[nodiscard]] bool spreads(std::uint32_t region) const {
    return region == 1 && role.threads > 1 && role.queues.empty();
  }

  /// Whether join() was called.
  [[nodiscard]] bool joined() const { return joined_; }
  /// The role with its regions one after another, whether they are joined yet or not: for text and checks.
  [[nodiscard]] PlanClass snapshot() const;

  /// The plan as text: the class that the tables' plan gets next, and what earlier passes leave for later ones. It says
  /// all that passes read; tests/plans reads it.
  [[nodiscard]] std::string str() const;

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

/// For each buffer, how often instructions of all regions have it as an operand, plus the number of its views.
[[nodiscard]] std::vector<std::uint32_t> count_touches(const ClassPlan& plan);

/// Checks what holds after every pass: operands, regions, views, devices and threads exist, no buffer is a view of a
/// view, and nothing is movable where only thread 0 runs. Error(bug) names the first buffer or instruction that breaks
/// it.
void check_class(const ClassPlan& plan);

}  // namespace ferry
