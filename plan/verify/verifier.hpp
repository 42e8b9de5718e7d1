// The parts of the verifier. Each check rejects a plan by throwing PlanRejected with the reason. The checks use only
// the plan's data, the definitions of ops and the traits of kernels. Except for name_of(), they link no functions of
// the passes, the executor or the plan, so that the verifier does not share a mistake there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {
struct KnownOps;
}

namespace ferry::verifier {

/// Bytes of a bounded value's extent, which is in front of its elements.
inline constexpr std::uint64_t kExtentBytes = 8;

/// The reason why a plan is rejected.
struct PlanRejected {
  std::string reason;
  std::string hint = {};  ///< empty: the hint of a Verdict
};

[[noreturn]] inline void reject(std::string reason) {
  throw PlanRejected{std::move(reason)};
}

/// "MatMul 'y' at model.cpp:12": the name of an instruction in a reason.
[[nodiscard]] std::string describe(const Plan& plan, const Instruction& instruction);
/// "collective 3 (loss) at model.cpp:12".
[[nodiscard]] std::string described(const Plan& plan, std::string_view what, std::uint32_t number, std::uint32_t name,
                                    std::uint32_t line);
[[nodiscard]] std::string described(const Plan& plan, std::uint32_t collective);

/// The position of a task in a grouping; -1 if it is in none of the groups.
struct GroupPosition {
  std::int32_t group = -1;
  std::int32_t member = -1;
};

/// A place in the program that classes share: the setup, the step, or one side of a loop or branch inside one of them
/// (for a loop, its condition or its body).
struct Site {
  std::uint32_t parent = kNone;
  std::string name;  ///< "step/while_1:0"
  struct ClassRegion {
    std::uint32_t plan_class = 0, region = 0;
  };
  std::vector<ClassRegion> regions;  ///< the site's region in each class that has it
  bool has_messages = false;         ///< a region of it, or a site inside it, has a message or collective
};

/// Tables that the checks look up. The plan must have passed check_structure().
struct Tables {
  explicit Tables(const Plan& plan);

  std::vector<std::vector<std::int32_t>> tasks_of;     ///< of each class, ascending
  std::vector<std::vector<GroupPosition>> places;      ///< by grouping, then by task
  std::vector<std::vector<std::uint32_t>> classes_of;  ///< by grouping: the classes with a task in it, ascending
  std::vector<std::vector<bool>> covers;               ///< by grouping, then by class: whether all its tasks are in it
  std::vector<std::size_t> members;                    ///< by grouping: the size of its groups; 0 if their sizes differ
  std::vector<Site> sites;                             ///< 0 is the setup, 1 the step; parents come first
  std::vector<std::vector<std::uint32_t>> site_of;     ///< by class, then by region
  /// Whether the task is the only one of the class.
  [[nodiscard]] bool is_only_task(std::uint32_t plan_class, std::int32_t task) const {
    return tasks_of[plan_class].size() == 1 && tasks_of[plan_class][0] == task;
  }
};

/// Checks that every index is in range, that regions form a tree, and that sizes agree with dtypes and dims.
void check_structure(const Plan& plan);
/// The size of a tile region that is not an epilogue.
struct TileExtent {
  std::uint64_t elements = 0;  ///< number of elements of its largest values
  std::uint64_t rows = 0;      ///< number of elements of its smallest results: `elements`, or one for each row
  /// The number of elements that a tile of `tile` elements has of a value with `count` elements.
  [[nodiscard]] std::uint64_t in_tile(std::uint64_t count, std::uint64_t tile) const {
    return count == elements ? tile : tile / (elements / rows);
  }
};
[[nodiscard]] TileExtent tile_extent(const PlanClass& plan_class, const Instruction& tiles);

/// Checks that tile regions can be run tile by tile. Their kernels have one output, and values with the same number of
/// elements or rows, or values broadcast to them. No kernel writes an element that another kernel needs at another
/// place or in another row. A slot is used in one region only. Returns the number of tile regions.
std::size_t check_tiles(const Plan& plan);
/// Checks that the kernels of stencils are windows, or elementwise kernels on values with the same number of elements
/// or with one element. No kernel may write a value that is read through a window. Of other values that are read, a
/// kernel may write only its own elements. A stencil has at most one stencil_begin, which comes before it, with the
/// same operands except halos. Returns the number of stencils. Call it after check_types().
std::size_t check_stencils(const Plan& plan);
/// Checks that operands fit their use: copies, predicates, feeds and fetches, views. Parts of split values must have
/// the sizes of their positions. Variables and memory must match the tasks.
void check_values(const Plan& plan, const Tables& tables);
/// Checks halos: the rows that a task reads and another task has are sent from the owner to the reader, and nothing
/// else uses these messages.
void check_halos(const Plan& plan, const Tables& tables);
/// Checks that operands of kernels fit their ops. Attributes, dtypes and sizes of whole values must equal the op's own
/// inference. Dims with the same letter in its index notation must be split alike. Kernels may overwrite inputs only
/// where their traits allow it. Returns the unknown ops, for which none of this is proved.
std::vector<std::string> check_types(const Plan& plan, const KnownOps& known);
/// Checks partial values. A value is partial if each task has only its part of a sum (or maximum), because a kernel
/// reduced a split dim. Until collectives have combined it over all these tasks, a partial value may only go through
/// ops that are linear in it for its dtype. Returns the number of outputs of kernels that reduce split dims. Call it
/// after check_types().
std::size_t check_partial_sums(const Plan& plan, const Tables& tables, const KnownOps& known);
/// Checks that the extent of every bounded value is written by a kernel, or is moved together with the elements.
void check_extents(const Plan& plan);
/// Checks that every channel has one send and one receive of equal size, in the same site. All members of a collective
/// must take part in it, with the buffers that its schedule needs.
void check_messages(const Plan& plan, const Tables& tables);
/// Checks buckets: the parts of a buffer are side by side and fill it. A sum of several values has the same values in
/// the same places on all members, and a message of several values has them in the same places at both ends.
void check_buckets(const Plan& plan, const Tables& tables);
/// Pairs of a buffer that is not a view, and the name of a value that fills this buffer, in any shape. A part of the
/// buffer with such a name is a chunk of this value.
using NamesOfWhole = std::set<std::pair<std::uint32_t, std::uint32_t>>;
[[nodiscard]] NamesOfWhole names_of_whole(const PlanClass& role);
/// Checks that a part of a value that is received by itself was sent from the same bytes of this value.
void check_chunks(const Plan& plan);
/// Checks that every schedule gives all members the result that its kind promises, even if nothing is buffered.
void check_schedules(const Plan& plan);
/// Checks the same for a schedule in which all members find their peers by flipping the same bits; `what` names it in
/// reasons. Does nothing and returns false for other schedules.
[[nodiscard]] bool check_flips(const Schedule& schedule, const std::string& what);
/// Checks a schedule in which members write over their inputs or reach into each other's memory. It must be the
/// one-shot schedule, which puts, or the direct schedule, which gets. `what` names the schedule in reasons.
void check_reach(const Schedule& schedule, const std::string& what);
/// Checks that the GPU library supports its collectives, that their GPUs can form a group, and that each GPU runs them
/// on one queue, one after another. Returns the number of these collectives.
std::size_t check_gpu_groups(const Plan& plan);
/// Checks that the members of the collective share memory if its schedule puts or gets.
void check_sharing(const Plan& plan, std::uint32_t collective);
/// Whether the two tasks share memory, according to the topology.
[[nodiscard]] bool tasks_share_memory(const Plan& plan, std::int32_t a, std::int32_t b);
/// Checks that no task waits forever, even if nothing is buffered, for any number of iterations and steps.
void check_progress(const Plan& plan, const Tables& tables);
/// Checks the strands of each task: its threads and the queues of its devices. Strands may touch the same bytes at the
/// same time only to read them, and may not wait for each other forever. When a region ends, all its work on queues
/// must be done. Returns false if every task uses one thread and no queue.
bool check_threads(const Plan& plan);
/// Checks that captured work of a region can be submitted as one. It must be work of one compute queue on its device's
/// memory, with sizes that the plan fixes, consecutive in a list that runs more than once. It may wait for others only
/// before it begins, and others may wait only for all of it. Returns the number of stretches of captured work.
std::size_t check_stretches(const Plan& plan);
/// Checks that the turns of a serving task may come in any order. Each turn may touch only its own memory, or state
/// that only whole turns change, and may exchange messages only with its own worker. So no worker waits for another,
/// except for the plan's limit on how many steps they may be apart. No variable may be older than its assignment
/// allows. Returns the number of serving tasks.
std::size_t check_turns(const Plan& plan, const Tables& tables);
/// Checks that a variable is written at most once in a step, or in each turn if the step has turns. A value that a copy
/// sets may only be read in the next step. The setup may read variables that the step does not write, in its last
/// instructions, which must be kernels that can run again before any step.
void check_updates(const Plan& plan);
/// Checks that the two buffers of a copy that swaps may be exchanged in every second iteration of its loop: nothing
/// else in the loop has bytes of them, and nothing touches them after the swap. Returns the number of these copies.
/// Call it before check_memory().
std::size_t check_swaps(const Plan& plan);
/// Checks that no buffer is read before it is written, after another buffer took its bytes, or while a message is being
/// written into it. Buffers must be within their arenas, which may not be larger than needed. Some instruction in a
/// loop must change its condition.
void check_memory(const Plan& plan);
/// The host memory of the task, and the memory of the GPU, that need the most; in bytes.
struct Footprint {
  std::uint64_t task = 0, gpu = 0;
};
/// Checks that no task and no GPU needs more memory than it may use. The tasks of a host together may need no more than
/// the host has, as far as the topology has the limits.
Footprint check_fit(const Plan& plan);

}  // namespace ferry::verifier
