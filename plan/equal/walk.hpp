// PlanWalk: walks over a plan, instruction by instruction and class by class, and finds the contents of buffers as
// terms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/traits.hpp"
#include "plan/equal/facts.hpp"
#include "plan/equal/geometry.hpp"
#include "plan/equal/graph_terms.hpp"
#include "plan/equal/terms.hpp"
#include "plan/plan.hpp"

namespace ferry::equal {

/// Counts of the assumptions of a proof.
struct Assumptions {
  std::set<std::string, std::less<>> kernels;
  std::uint64_t collectives = 0, messages = 0;
  bool turns = false;  ///< servers make updates with the values of one worker
};

class PlanWalk {
 public:
  PlanWalk(const Plan& plan, const GraphTerms& graph, Terms& terms, const KernelLookup& kernels);

  /// Throws Stop unless each fetch, variable and effect equals the graph's.
  void run();
  [[nodiscard]] const Assumptions& assumptions() const { return assumptions_; }

 private:
  /// A region of a class on the stack of the walk.
  struct Frame {
    RegionId region = 0;
    std::uint32_t next = 0;
    std::string place;            ///< place of the region in the graph: "step/while_1/0"
    std::uint32_t owner = kNone;  ///< the loop or branch, as an instruction of the class
    std::map<std::uint32_t, Pieces> before =
        {};                       ///< for a branch: the earlier contents of all buffers that it may change
    std::vector<Fact> made = {};  ///< outputs of the first side of a branch
  };

  struct Class {
    std::uint32_t number = 0;
    const PlanClass* role = nullptr;
    Memory memory;
    std::vector<Frame> frames;
    std::vector<TypeId> types;             ///< for each buffer, the type of its whole value; kNone: not computed yet
    std::map<std::uint32_t, Pieces> kept;  ///< buffers from the setup, except variables
    std::int32_t worker = -1;              ///< for a server: the worker of the current turn
    std::uint32_t turns_ended = 0;
    std::set<std::uint32_t> set_in_turns = {};  ///< names of variables
  };

  /// A message that was sent.
  struct Sent {
    bool there = false;
    Pieces pieces;
    std::uint32_t empty = kNone;
  };

  /// A collective that is under way.
  struct OpenCollective {
    struct Member {
      std::uint32_t in = kNone, out = kNone;  ///< buffers
      Pieces pieces = {};                     ///< for sums
      std::optional<Fact> fact = {};          ///< for other kinds
      const Instruction* instruction = nullptr;
    };
    std::map<std::uint32_t, Member> members;  ///< by class
    bool done = false;
    Pieces sum;                         ///< for sums: the result of all members
    std::map<std::uint32_t, Fact> got;  ///< for other kinds: results by class
  };

  // ---- walk.cpp: order, control flow, messages, ends ----
  void check_ports();
  void walk_all(RegionId region);
  bool advance(Class& c);
  bool execute(Class& c, std::uint32_t index);
  void finish(Class& c);
  void enter_loop(Class& c, std::uint32_t index);
  void finish_loop(Class& c, const Frame& frame);
  void check_condition(Class& c, const Instruction& i, TermId wanted);
  void enter_branch(Class& c, std::uint32_t index);
  void finish_branch(Class& c, const Frame& frame);
  void feed(Class& c, const Instruction& i);
  void fetch(Class& c, const Instruction& i);
  void send(Class& c, const Instruction& i);
  bool receive(Class& c, const Instruction& i);
  [[nodiscard]] bool is_of_workers(const Class& c, const Fact& fact) const;
  void handle_turn_bounds(Class& c, std::uint32_t next);
  [[nodiscard]] Fact read_variable(Class& c, const PlanVariable& variable);
  [[nodiscard]] bool is_updated(const Class& c, TermId has, TermId wanted) const;
  void know_variables(Class& c);
  void begin_step(Class& c);
  void check_variables(Class& c);
  void check_kept(Class& c);
  void check_effects() const;
  [[nodiscard]] std::set<std::uint32_t> written(const Class& c, RegionId region) const;
  /// Like written(), for both regions of a loop or branch.
  [[nodiscard]] std::set<std::uint32_t> written_by(const Class& c, const Instruction& i) const;
  [[nodiscard]] std::uint32_t carried_number(const Class& c, const LoopTerms& loop, BufferId buffer,
                                             const Instruction& i) const;

  // ---- reading.cpp: facts of buffers ----
  [[nodiscard]] Fact read(Class& c, BufferId buffer, const Instruction& i);
  [[nodiscard]] Fact read_empty(Class& c, BufferId buffer, const Instruction& i);
  [[nodiscard]] Fact view_as(Class& c, const Fact& fact, BufferId buffer, const Instruction& i);
  [[nodiscard]] std::optional<Fact> joined(Class& c, const Pieces& pieces, BufferId buffer);
  /// The fact of a buffer that has the name of a concatenation in the graph. `fact` is the fact of its bytes. Nothing,
  /// unless these are the elements of the concatenation that each task of the class has.
  [[nodiscard]] std::optional<Fact> part_of_named(Class& c, const Fact& fact, BufferId buffer);
  /// Whether `part` has the elements of the concatenation `whole` in the box, which cuts one dim.
  [[nodiscard]] bool is_part_of(const TypedTerm& part, const TypedTerm& whole, const Box& box);
  /// The value of the graph that has the buffer's name, or null.
  [[nodiscard]] const TypedTerm* named_value(const Class& c, BufferId buffer) const;
  /// Like read(), and throws Stop if the value has pending reductions or is in blocks.
  [[nodiscard]] Fact read_summed(Class& c, BufferId buffer, const Instruction& i);
  /// Whether a task's part has no elements. Such a part equals the part of any value.
  [[nodiscard]] static bool has_nothing(const Class& c, BufferId buffer) { return c.role->buffers[buffer].bytes == 0; }
  void write(Class& c, BufferId buffer, const Fact& fact) { c.memory.set(buffer, facts_.number(fact)); }
  [[nodiscard]] TypeId type(Class& c, BufferId buffer);
  [[nodiscard]] Partition partition_of(const Fact& fact) const { return {terms_.sizes(fact.value.type), fact.window}; }
  [[nodiscard]] Partition partition_of(Class& c, BufferId buffer) {
    return {terms_.sizes(type(c, buffer)), c.role->buffers[buffer].window};
  }
  /// Whether the parts of this dim follow one another in the buffer, in order.
  [[nodiscard]] static bool parts_follow(const PlanClass& role, BufferId buffer, std::int64_t dim);

  // ---- kernels.cpp ----
  void run(Class& c, const Instruction& i);
  void run_op(Class& c, const Instruction& i, const OpDef& def);
  /// The task of the class. Throws Stop if it has several: they would have different values.
  [[nodiscard]] std::int32_t only_task(const Class& c, const Instruction& i) const;
  void check_fallible(const Class& c, const Instruction& i, TermId term) const;
  void run_placed(Class& c, const Instruction& i, const OpDef& def);
  /// The sum of the values that all workers sent to their server.
  [[nodiscard]] Fact sum_of_workers(Class& c, const Instruction& i, const std::vector<Fact>& given) const;
  void run_parts(Class& c, const Instruction& i, const OpDef& def);
  void run_window(Class& c, const Instruction& i, const OpDef& def);
  void run_bound(Class& c, const Instruction& i, const OpDef& def);
  void run_unknown(Class& c, const Instruction& i);
  void check_packed(Class& c, const Instruction& i, const Fact& source, const Kernel& kernel);
  [[nodiscard]] const Kernel* kernel_of(const Class& c, const Instruction& i) const;
  [[nodiscard]] std::vector<PendingReduction> pending_after(Class& c, const Instruction& i, const OpDef& def,
                                                            const std::vector<std::optional<Fact>>& inputs) const;
  void add_reduced(std::vector<PendingReduction>& owed, const OpDef& def, const Attrs& attrs,
                   const std::vector<TypedTerm>& values, const std::vector<std::optional<Fact>>& inputs,
                   int output) const;
  [[nodiscard]] const Attrs& attrs(const Instruction& i) const;
  void record_suspect(Class& c, const Instruction& i, TermId term);

  // ---- collectives.cpp ----
  void join_collective(Class& c, const Instruction& i);
  bool end_collective(Class& c, const Instruction& i);
  void complete(OpenCollective& all, std::uint32_t number);
  void complete_sum(OpenCollective& all, const Collective& collective);
  void complete_move(OpenCollective& all, const Collective& collective);
  [[nodiscard]] Fact combined(const Fact& fact, const Collective& collective, const Instruction& i);
  [[nodiscard]] const std::set<std::uint32_t>& classes_in(std::uint32_t grouping);

  // ---- texts ----
  [[nodiscard]] std::string described(const Class& c, const Instruction& i) const;
  [[nodiscard]] std::string named(const Class& c, BufferId buffer) const;
  [[noreturn]] void throw_difference(const Class& c, const Instruction& i, const std::string& why) const;
  [[noreturn]] void throw_not_proved(const Class& c, const Instruction& i, const std::string& why) const;
  [[noreturn]] void throw_wrong_value(const std::string& what, TermId has, TermId wanted) const;

  const Plan& plan_;
  const GraphTerms& graph_;
  Terms& terms_;
  const KernelLookup& kernels_;
  const std::uint32_t graph_terms_;  // terms below this id are the graph's
  FactTable facts_;
  Geometry geometry_;
  std::vector<Class> classes_;
  std::vector<Sent> sent_;                                       // for each channel
  std::vector<OpenCollective> open_collectives_;                 // for each collective
  std::map<std::uint32_t, std::set<std::uint32_t>> classes_in_;  // for each grouping
  std::map<std::string, Effects> effects_;
  std::set<std::pair<std::uint32_t, TermId>> effects_of_class_;
  std::set<std::string, std::less<>> variables_;
  std::map<TermId, FactId> packed_from_;
  /// An instruction that makes a value which is not in the graph.
  struct Suspect {
    std::string what;
    TermId term = kNoTerm;
    std::string place, name;
  };
  std::vector<Suspect> suspects_;
  Assumptions assumptions_;
};

}  // namespace ferry::equal
